"""Published results: complete, marked as theirs, and listed by the command."""

from __future__ import annotations

import pytest

from ganboard.gan.studies import reference_results
from tests.cli import document, ganboard


def test_every_number_has_its_document() -> None:
    assert {one.document for one in reference_results.REFERENCES} == set(
        reference_results.DOCUMENTS
    )
    assert len(reference_results.table()) == len(reference_results.REFERENCES) == 38
    assert all(len(row) == len(reference_results.COLUMNS) for row in reference_results.table())
    assert all(
        one.baseline
        for one in reference_results.REFERENCES
        if one.unit in (reference_results.SPEEDUP, reference_results.REDUCTION)
    )


def test_numbers_by_batch() -> None:
    assert reference_results.by_batch("pix2pix", "TPU v2") == {8: 2518, 16: 1525}
    assert reference_results.by_batch("pix2pix", "RTX A6000")[64] == 2790


def test_numbers_by_devices() -> None:
    assert reference_results.by_devices("multi-gpu") == {2: 1.322, 3: 1.688, 4: 1.7792}
    prefetched, plain = (
        reference_results.by_devices("3dgan", note)
        for note in ("with prefetch", "without prefetch")
    )
    assert list(prefetched) == list(plain) == [2, 4, 8, 16, 32, 64, 128]
    # as derived from the same table elsewhere
    assert prefetched[2] / prefetched[128] == pytest.approx(51.13, abs=0.01)
    assert plain[2] / plain[128] / 64 == pytest.approx(0.204, abs=0.001)


@pytest.mark.usefixtures("home")
def test_the_command() -> None:
    shown = document("published")
    assert set(shown["documents"]) == set(reference_results.DOCUMENTS)
    assert shown["references"][0]["unit"] == "% less time"
    words = ganboard("published").stdout
    assert "doi 10.32604/csse.2023.034710" in words
    assert "1.779 times as fast over one GPU" in words
