"""Caches of decoded pictures, as the doctor sees them."""

from __future__ import annotations

import os
import time
from pathlib import Path

from ganboard.db.settings import Settings
from ganboard.gan.data import pictures
from ganboard.gan.data.pictures import cache
from ganboard.worker import doctor
from ganboard.worker.doctor import picture_caches
from tests.unit.gan.data.pictures.files import grey, put


def test_unused_caches_are_reported_and_freed(home: Path) -> None:
    settings = Settings()
    assert list(picture_caches.caches(settings)) == []
    put(settings.data / "set", {"1.png": grey(1)})
    for side in (28, 32):
        pictures.load(settings.data, "set", side, 1)
    [check] = picture_caches.caches(settings)
    assert (check.status, check.text.startswith("2 caches, ")) == ("ok", True)
    assert list(doctor.mend(settings)) == []
    [old] = (settings.data / cache.FOLDER).glob("*-28x28x1")
    os.utime(old / cache.MANIFEST, (0, time.time() - 40 * 86_400))
    [check] = picture_caches.caches(settings)
    assert check.status == "warn"
    assert "; 1 unused for 30 days or incomplete, " in check.text
    assert check.remedy == "Run: `ganboard doctor --fix`"
    [done] = doctor.mend(settings)
    assert done.startswith(f"Deleted the unused cache {old} (")
    assert [check.status for check in picture_caches.caches(settings)] == ["ok"]
