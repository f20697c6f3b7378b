"""Models of one's own, as the doctor sees them."""

from __future__ import annotations

from collections.abc import Callable

from ganboard.worker.doctor import models


def test_models_and_refused_files_are_named(named: Callable[..., None]) -> None:
    functions = "".join(f"def {name}(config): ...\n" for name in ("generator", "discriminator"))
    named(tiny=f'"""Tiny GAN (Nobody 2024)."""\n{functions}', torn="def generator(config:\n")
    good, bad = models.own()
    assert (good.name, good.status, good.text) == ("model: tiny", "ok", "Tiny GAN (Nobody 2024)")
    assert (bad.name, bad.status) == ("model: torn", "fail")
    assert "torn.py: line 1 is not valid Python" in bad.text
    assert "GANBOARD_MODELS" in bad.remedy
