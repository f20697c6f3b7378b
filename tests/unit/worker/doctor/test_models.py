"""Models of one's own, as the doctor sees them."""

from __future__ import annotations

from pathlib import Path

import pytest

from ganboard.gan.settings import registry
from ganboard.worker.doctor import models


def test_models_and_refused_files_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    functions = "".join(f"def {name}(config): ...\n" for name in ("generator", "discriminator"))
    (tmp_path / "tiny.py").write_text(f'"""Tiny GAN (Nobody 2024)."""\n{functions}')
    (tmp_path / "torn.py").write_text("def generator(config:\n")
    monkeypatch.setenv("GANBOARD_MODELS", str(tmp_path))
    registry._found.cache_clear()
    try:
        good, bad = models.own()
    finally:
        monkeypatch.undo()
        registry._found.cache_clear()
    assert (good.name, good.status, good.text) == ("model: tiny", "ok", "Tiny GAN (Nobody 2024)")
    assert (bad.name, bad.status) == ("model: torn", "fail")
    assert "torn.py: line 1 is not valid Python" in bad.text
    assert "GANBOARD_MODELS" in bad.remedy
