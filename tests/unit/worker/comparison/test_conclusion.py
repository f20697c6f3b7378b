"""The result of a comparison in words: what it claims, and what it must not claim."""

from __future__ import annotations

import numpy as np
import pytest

from ganboard.gan.settings.features import FACT
from ganboard.worker.comparison.conclusion import factor
from tests.factories import HOSTILE_NAMES
from tests.unit.worker.comparison.results import STEADY, result, said


def test_faster_at_equal_quality() -> None:
    text = said(
        result(fids=STEADY), result(rate=1480, fids=(*STEADY[:4], 12.3), precision="mixed_bfloat16")
    )
    assert text.headline.startswith(
        "mixed_bfloat16 is 1.48× faster than float32 at equal quality: classifier-FID 12.3 against"
        " 12.2 after epoch 5 (equal within ±0.52"
    )
    assert text.headline.endswith("the variation between evaluations).")
    assert (text.each, text.remarks) == ([], [])


@pytest.mark.parametrize(
    ("rate", "text"),
    [(2000, "2.00× faster than"), (500, "2.00× slower than"), (1021, "1.02× faster than")],
)
def test_speed_names_its_direction(rate: float, text: str) -> None:
    headline = said(result(), result(rate=rate, precision="mixed_bfloat16")).headline
    assert f"mixed_bfloat16 is {text} float32." in headline


@pytest.mark.parametrize("rate", [1000, 1019, 981.5])
def test_within_two_per_cent_is_about_as_fast(rate: float) -> None:
    text = said(result(), result(rate=rate, precision="mixed_bfloat16"))
    assert "is about as fast as float32" in text.headline


def test_what_the_epochs_leave_open_is_no_difference() -> None:
    noisy = (800, 1300, 900, 1250, 1100)
    headline = said(result(rates=noisy), result(rates=np.multiply(noisy, 1.1), xla=True)).headline
    assert "xla on is about as fast (within the " in headline
    assert "as xla off" in headline


def test_one_slow_epoch_changes_nothing() -> None:
    slow = (10, 1480, 1480, 1480, 1480)
    assert "1.48× faster" in said(result(), result(rates=slow, xla=True)).headline


@pytest.mark.parametrize(
    ("rate", "fid", "text"),
    [
        (
            2000,
            8.0,
            (
                "2.00× faster than xla off, and its images are better: classifier-FID 8.00 against"
                " 12.2 after epoch 5."
            ),
        ),
        (
            2000,
            30.0,
            "2.00× faster than xla off, but its images are worse: classifier-FID 30.0 against 12.2",
        ),
        (500, 8.0, "2.00× slower than xla off, but its images are better"),
        (500, 30.0, "2.00× slower than xla off, and its images are worse"),
        (1000, 30.0, "about as fast as xla off, and its images are worse"),
    ],
)
def test_quality_beside_speed(rate: float, fid: float, text: str) -> None:
    words_said = said(
        result(fids=STEADY), result(rate=rate, fids=np.add(STEADY, fid - STEADY[-1]), xla=True)
    ).headline
    assert f"xla on is {text}" in words_said


def test_few_evaluations_count_as_equal_within_ten_per_cent_and_say_so() -> None:
    base = result(fids=(20.0, 12.0))
    close = said(base, result(fids=(20.0, 13.1), xla=True)).headline
    assert (
        "at equal quality: classifier-FID 13.1 against 12.0 after epoch 2 (equal within 10 %, as"
        " there are too few evaluations" in close
    )
    assert "worse" in said(base, result(fids=(20.0, 13.3), xla=True)).headline
    assert "better" in said(base, result(fids=(20.0, 10.7), xla=True)).headline


def test_a_trend_is_not_taken_for_spread() -> None:
    falling = np.linspace(60, 20, 9)
    assert (
        "worse"
        in said(
            result(epochs=9, fids=falling), result(epochs=9, fids=falling + 3, xla=True)
        ).headline
    )


def test_what_varies_wildly_shows_nothing() -> None:
    wild = (20.0, 60.0, 15.0, 70.0, 30.0)
    headline = said(
        result(fids=wild), result(fids=(25.0, 50.0, 20.0, 80.0, 40.0), xla=True)
    ).headline
    assert "no measurable difference in quality: classifier-FID 40.0 against 30.0" in headline
    assert "equal quality" not in headline


def test_quality_is_taken_at_the_last_epoch_that_both_have_reached() -> None:
    long = result(epochs=10, fids=np.linspace(50, 5, 10), planned=10)
    short = result(epochs=5, fids=np.linspace(50, 30, 5), planned=5, xla=True)
    text = said(long, short)
    assert "classifier-FID 30.0 against 30.0 after epoch 5" in text.headline
    assert text.remarks == [
        "The numbers of planned epochs differ (5 and 10): final losses and total times cannot be"
        " compared."
    ]


def test_only_evaluations_of_the_same_epoch_are_compared() -> None:
    text = said(
        result(epochs=12, fids=(20.0, 14.0, 13.0), every=3),
        result(epochs=12, fids=(20.0, 16.0, 12.0, 8.0), every=2, xla=True),
    )
    assert "classifier-FID 12.0 against 14.0 after epoch 6." in text.headline
    text = said(
        result(epochs=6, fids=(20.0,), every=3),
        result(epochs=6, fids=(21.0, 9.0), every=2, xla=True),
    )
    assert "FID" not in text.headline
    assert text.remarks == [
        "They were not evaluated after the same epochs, so quality is not compared. Use the same"
        " quality_every."
    ]


def test_no_quality_is_said() -> None:
    text = said(result("one"), result("two", rate=2000, xla=True))
    assert text.headline == "xla on is 2.00× faster than xla off."
    assert text.remarks == ["Quality was not evaluated: evaluate the runs in the tab Quality."]
    assert said(result("one", fids=STEADY), result("two", xla=True)).remarks == [
        "The quality of “two” was not evaluated, so it is not compared."
    ]
    assert said(result("one"), result("two", fids=STEADY, xla=True)).remarks == [
        "The quality of “one” was not evaluated, so it is not compared."
    ]


def test_distances_from_different_numbers_of_images_are_not_compared() -> None:
    text = said(
        result(fids=STEADY, quality_images=2000), result(fids=STEADY, quality_images=5000, xla=True)
    )
    assert "FID" not in text.headline
    assert text.remarks == [
        "Quality was evaluated with 2000 and 5000 images: such distances cannot be compared."
    ]


def test_a_distance_that_is_not_finite() -> None:
    text = said(result(fids=STEADY), result(fids=(*STEADY[:4], np.nan), xla=True))
    assert "quality cannot be compared: classifier-FID NaN against 12.2" in text.headline


def test_several_settings_are_named_and_many_are_not() -> None:
    base = result("base")
    headline = said(
        base, result(rate=2000, precision="mixed_bfloat16", xla=True, batch_size=64)
    ).headline
    assert headline.startswith(
        "mixed_bfloat16 with batch_size 64 and xla on is 2.00× faster than float32 with batch_size"
        " 32 and xla off"
    )
    many = {"precision": "mixed_bfloat16", "xla": True, "batch_size": 64, "seed": 7}
    assert said(base, result("other", rate=2000, **many)).headline.startswith(
        "“other” is 2.00× faster than “base”."
    )


def test_equal_settings_are_distinguished_by_name() -> None:
    assert said(result("first"), result("again")).headline == "“again” is about as fast as “first”."
    assert said(result("first"), result("finely evaluated", quality_every=1)).headline.startswith(
        "“finely evaluated” is"
    )


def test_runs_that_share_their_difference_get_their_names() -> None:
    text = said(result("base"), result("one", xla=True), result("two", rate=2000, xla=True))
    assert text.headline.startswith(
        "xla on (“one”) is about as fast as xla off. xla on (“two”) is 2.00× faster"
    )


def test_hostile_names_stay_text() -> None:
    for name in HOSTILE_NAMES:
        assert f"“{name}”" in said(result("x"), result(name)).headline


def test_three_and_more_get_a_headline_and_a_list() -> None:
    base = result("base", fids=STEADY)
    others = [
        result("b", rate=1500, fids=STEADY, xla=True),
        result("c", rate=2500, fids=np.add(STEADY, 20), precision="mixed_bfloat16"),
        result("d", rate=400, fids=np.subtract(STEADY, 4), batch_size=16),
    ]
    text = said(base, *others)
    assert (
        text.headline
        == "Fastest is mixed_bfloat16: 2.50× the baseline “base”. The best images come from"
        " batch_size 16: classifier-FID 8.20 against 12.2 after epoch 5."
    )
    assert [sentence.split(" is ")[0] for sentence in text.each] == [
        "xla on",
        "mixed_bfloat16",
        "batch_size 16",
    ]


def test_a_baseline_that_nobody_beats() -> None:
    text = said(
        result("base", fids=STEADY),
        *(result(fids=np.add(STEADY, 9), rate=500, seed=seed) for seed in (1, 2, 3)),
    )
    assert text.headline == "None is faster than the baseline “base”. No run has better images."
    text = said(result("base"), *(result(rate=500, seed=seed) for seed in (1, 2, 3)))
    assert text.headline == "None is faster than the baseline “base”."
    evaluated = result(fids=np.add(STEADY, 9), rate=500, seed=1)
    others = [result(rate=500, seed=seed) for seed in (2, 3)]
    text = said(result("base", fids=STEADY), evaluated, *others)
    assert "Of the runs whose quality can be compared, none has better images." in text.headline


def test_a_lower_fid_among_steep_ones_leaves_the_best_open() -> None:
    steep = (120.0, 30.0, 20.0, 4.5, 2.95)
    better = result(fids=(90.0, 12.0, 8.0, 1.9, 1.46), seed=1)
    others = [result(fids=np.add(steep, 9), seed=seed) for seed in (2, 3, 4)]
    assert said(result("base", fids=steep), better, *others).headline == (
        "None is faster than the baseline “base”. Whether seed 1 has better images is open: the"
        " evaluations vary by more than the difference."
    )
    text = said(result("base", fids=(90.0, 12.0, 8.0, 1.9, 1.46)), *others)
    assert text.headline.endswith("No run has better images.")


def test_no_epochs_yet() -> None:
    assert (
        said(result("base", epochs=0, status="running", planned=5), result(xla=True)).headline
        == "The baseline “base” has not finished an epoch yet. Ratios appear after the first epoch."
    )
    text = said(result("base", epochs=0, status="failed", planned=5), result(xla=True))
    assert "Choose another baseline" in text.headline
    text = said(result(), result(epochs=0, status="queued", planned=5, xla=True))
    assert text.headline == "xla on has not finished an epoch yet."
    text = said(result(), result(epochs=0, status="failed", planned=5, xla=True))
    assert text.headline == "xla on has finished no epoch and cannot be compared."
    assert "xla on failed after 0 of 5 epochs." in text.remarks


def test_while_one_still_trains_it_is_so_far() -> None:
    text = said(
        result(planned=9), result(rate=2000, status="running", epochs=4, planned=9, xla=True)
    )
    assert text.headline == "So far, xla on is 2.00× faster than xla off."
    assert not any("epochs differ" in remark for remark in text.remarks)


def test_settings_of_an_older_or_newer_version() -> None:
    old = result("old")
    del old.run.config["ema"]
    assert said(old, result("new", rate=2000, wings=2)).headline.startswith(
        "ema 0 with wings 2 is 2.00× faster than ema none with wings none"
    )


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(1.4784, "1.48×"), (9.996, "10.0×"), (12.34, "12.3×"), (99.96, "100×"), (1234.5, "1,234×")],
)
def test_factors(ratio: float, text: str) -> None:
    assert factor(ratio) == text


def test_distances_by_different_features_are_not_compared() -> None:
    one, other = result(fids=STEADY), result(fids=STEADY, rate=2000, xla=True)
    other.run.facts = {FACT: "encoder 3f2a9c0d11e2b7c4"}
    text = said(one, other)
    assert text.headline == "xla on is 2.00× faster than xla off."
    assert text.remarks == [
        "FID by classifier features and FID by encoder features cannot be compared."
    ]
    one.run.facts = {FACT: "encoder 77b10c0d11e2b7c4"}
    [remark] = said(one, other).remarks
    assert remark.endswith("cannot be compared: they were made of different data.")
    one.run.facts = other.run.facts
    assert "at equal quality: encoder-FID 12.2 against 12.2" in said(one, other).headline
