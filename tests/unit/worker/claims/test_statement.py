"""Sentences and the ranges that they mean."""

from __future__ import annotations

import math

import pytest

from ganboard.gan.config import ConfigError
from ganboard.worker.claims.statement import canonical, parse


@pytest.mark.parametrize(
    ("sentence", "ranges"),
    [
        (
            "at least 1.3x as fast at equal FID (margin 0.5)",
            {"epoch_seconds": (1.3, math.inf), "fid": (-0.5, 0.5)},
        ),
        ("At most 2 times as fast per image.", {"images_per_second": (0.0, 2.0)}),
        ("at least 1.1× as fast to fid 12.5", {"seconds_to fid 12.5": (1.1, math.inf)}),
        (
            "at most 0.6x the memory and fid no worse (margin .3), kid at least 0.01 lower",
            {"peak_memory": (0.0, 0.6), "fid": (-math.inf, 0.3), "kid": (-math.inf, -0.01)},
        ),
        ("recall no worse (margin 0.05)", {"recall": (-0.05, math.inf)}),
        ("recall at least 0.1 higher", {"recall": (0.1, math.inf)}),
    ],
)
def test_what_sentences_mean(sentence: str, ranges: dict[str, tuple[float, float]]) -> None:
    found = parse(sentence, "dcgan")
    assert {one.key: (one.low, one.high) for one in found} == ranges
    assert parse(canonical(found), "dcgan") == found  # what is stored means the same


@pytest.mark.parametrize(
    ("sentence", "says"),
    [
        ("", "The claim is empty."),
        ("faster", "'faster' is not understood. Use the form"),
        ("at least 1.3x as fast at equal fid", "'at equal fid' needs a margin"),
        ("at least 0x as fast", "The factor 0 is outside 0.01 to 100."),
        ("at equal beauty (margin 1)", "'beauty' is no metric"),
        ("at equal density (margin 1)", "'density' is no metric"),  # no value of it is better
        ("at equal fid (margin 0)", "The margin 0 must be greater than 0"),
        ("fid no worse (margin 1) and equal fid (margin 2)", "two conditions on Difference in FID"),
        (" and ".join(["at least 2x as fast"] * 5), "has 5 conditions; the limit is 4"),
        ("x" * 5000, "is not understood"),
    ],
)
def test_bad_sentences_get_one(sentence: str, says: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse(sentence, "dcgan")
    assert says in str(refused.value)
    assert len(str(refused.value)) < 250
