"""The artifact store: can this machine use it?"""

from __future__ import annotations

from collections.abc import Iterator

from ganboard.db.settings import Settings, SettingsError
from ganboard.worker.artifacts import uploader
from ganboard.worker.artifacts.store import StoreError, configured
from ganboard.worker.doctor.check import Check


def artifact_store(settings: Settings) -> Iterator[Check]:
    """Whether it stores, returns and deletes a test file; nothing where there is no store."""
    try:
        if not configured(settings):
            return
        unknown = uploader.check(settings)
    except (SettingsError, StoreError) as error:
        yield Check("artifact store", "fail", str(error), "")
        return
    if unknown is not None:
        yield Check("artifact store", "warn", unknown, "")
    else:
        yield Check("artifact store", "ok", f"{settings.store} can be used")
