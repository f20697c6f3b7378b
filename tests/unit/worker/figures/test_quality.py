"""Quality over the course of training, and the classes of the images."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ganboard.gan.quality.declared import METRICS
from ganboard.worker.figures import quality
from ganboard.worker.figures.template import TITLES


def frame(n: int) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "epoch": np.arange(1, n + 1),
            "training_seconds": 2.5 * np.arange(1, n + 1),
            **{name: np.ones(n) for name in METRICS},
        }
    )


def test_the_headline_is_that_of_the_model() -> None:
    assert quality.headline({"model": "gan3d"}) == "objective"
    assert quality.headline({}) == quality.headline({"model": "of another version"}) == "fid"


@pytest.mark.parametrize(("x", "at"), [("epoch", [1, 2, 3]), ("training_seconds", [2.5, 5.0, 7.5])])
def test_measures_that_are_read_together_share_a_chart(x: quality.Axis, at: list[float]) -> None:
    evaluated = frame(3)
    evaluated.loc[1, "recall"] = np.inf
    plot = quality.course(evaluated, ("precision", "recall"), x=x)
    lines = [line for line in plot.data if line.mode != "text"]
    assert [(line.uid, line.name, line.x.tolist()) for line in lines] == [
        ("precision", "Precision", at),
        ("recall", "Recall", at),
    ]
    assert np.array_equal(plot.data[1].y, [1, np.nan, 1], equal_nan=True)
    assert plot.layout.xaxis.title.text == TITLES[x]
    assert plot.layout.showlegend


def test_a_single_evaluation_is_a_point() -> None:
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


def test_classes_of_images_that_could_not_be_evaluated() -> None:
    assert np.isnan(quality.classes(np.full(10, np.nan)).data[0].y).all()
