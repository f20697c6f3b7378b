"""A damaged checkpoint is never loaded as if it were whole: a sample; `python -m
tests.crash.mutations` tries a thousand."""

from __future__ import annotations

import zipfile

import pytest

from ganboard.gan import files
from tests.crash.mutations import MUTATIONS, try_all


def test_every_mutation_is_detected_or_harmless() -> None:
    counts, wrong = try_all(150, seed=1)
    assert wrong == []
    assert counts.total() == 150
    assert {name.split(":")[0] for name in counts} == {mutation.__name__ for mutation in MUTATIONS}
    harmless = {name.split(":")[0] for name in counts if name.endswith("harmless")}
    assert harmless <= {"bit_flip", "zeros", "tail", "odd_manifest", "further_file"}


def test_a_loader_without_checksums_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    class Always(tuple[int, str]):
        __slots__ = ()

        def __ne__(self, other: object) -> bool:
            return False

    monkeypatch.setattr(files, "measured", lambda file: Always((0, "")))
    # the second line of defence
    monkeypatch.setattr(zipfile.ZipExtFile, "_update_crc", lambda self, data: None)
    assert try_all(45, seed=1)[1]
