"""Quality over the course of training, and the classes of the images."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ganboard.db.models import QUALITY_MEASURES
from ganboard.gan.events import MEASURED, QUALITY
from ganboard.worker.figures import quality


def frame(n: int) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "epoch": np.arange(1, n + 1),
            "training_seconds": 2.5 * np.arange(1, n + 1),
            **{name: np.ones(n) for name in QUALITY},
        }
    )


def test_trainer_database_and_page_agree_on_what_is_measured() -> None:
    assert tuple(QUALITY) == QUALITY_MEASURES == tuple(quality.LABELS)
    for model, charts in quality.CHARTS.items():
        assert {name for chart in charts for name in chart} == set(MEASURED[model])
        assert quality.headline({"model": model}) == next(iter(MEASURED[model]))
    assert quality.headline({}) == quality.headline({"model": "of another version"}) == "fid"
    assert quality.DIGITS.keys() == {next(iter(measures)) for measures in MEASURED.values()}


@pytest.mark.parametrize(("x", "at"), [("epoch", [1, 2, 3]), ("training_seconds", [2.5, 5.0, 7.5])])
def test_measures_that_are_read_together_share_a_chart(x: quality.Axis, at: list[float]) -> None:
    judged = frame(3)
    judged.loc[1, "recall"] = np.inf
    plot = quality.course(judged, ("precision", "recall"), x=x)
    assert [(line.uid, line.name, line.x.tolist()) for line in plot.data] == [
        ("precision", "Precision", at),
        ("recall", "Recall", at),
    ]
    assert np.array_equal(plot.data[1].y, [1, np.nan, 1], equal_nan=True)
    assert plot.layout.xaxis.title.text == quality.AXES[x]
    assert plot.layout.showlegend


def test_a_single_judgement_is_a_point() -> None:
    line = quality.course(frame(1), ("fid",), x="epoch").data[0]
    assert "markers" in line.mode
    assert quality.course(frame(100), ("fid",), x="epoch").data[0].mode == "lines"


def test_classes_stand_beside_the_real_ones_or_a_line() -> None:
    shares = np.float32([0.5, 0.25, 0.25])
    generated, equal = quality.classes(shares).data
    assert generated.y.tolist() == [50, 25, 25]
    assert equal.y == pytest.approx((100 / 3, 100 / 3))
    _, real = quality.classes(shares, [0.2, 0.3, 0.5]).data
    assert (real.uid, real.y.tolist()) == ("real", [20, 30, 50])


def test_classes_of_images_that_could_not_be_judged() -> None:
    assert np.isnan(quality.classes(np.full(10, np.nan)).data[0].y).all()
