"""What every figure relies on: text taken literally, numbers finite, long series thinned."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ganboard.worker.figures.palette import CATEGORICAL
from ganboard.worker.figures.template import (
    MISSING,
    TEMPLATES,
    draw_not_finite,
    figure,
    finite,
    plain,
    thin,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<b>bold</b>", "&lt;b&gt;bold&lt;/b&gt;"),
        ("a & b", "a &amp; b"),
        ("two\nlines", "two lines"),
        ("&lt;", "&amp;lt;"),
    ],
)
def test_plotly_gets_no_markup(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_what_is_not_finite_becomes_a_gap() -> None:
    assert np.array_equal(
        finite([1, np.inf, -np.inf, np.nan, None]),
        [1, np.nan, np.nan, np.nan, np.nan],
        equal_nan=True,
    )


def test_first_loss_that_is_not_finite_is_marked() -> None:
    plot = figure()
    draw_not_finite(plot, [10, 11, 12], [1, 1, np.nan], [1, np.inf, 1])
    assert [(shape.x0, shape.line.color) for shape in plot.layout.shapes] == [(11, MISSING)]
    untouched = figure()
    draw_not_finite(untouched, [1, 2], [1, 2], [3, 4])
    assert not untouched.layout.shapes


def test_thinning_keeps_means_and_leaves_short_frames_alone() -> None:
    frame = pd.DataFrame(
        {"run_id": "a", "epoch": np.arange(1, 2501), "seconds": np.arange(2500) % 5}
    )
    thinned = thin(frame, 500)
    assert len(thinned) == 500
    assert thinned["epoch"].tolist()[:2] == [3, 8]
    assert (thinned["seconds"] == 2).all()
    assert thin(frame.head(7), 500)["epoch"].tolist() == [1, 2, 3, 4, 5, 6, 7]
    times = thin(
        frame.assign(
            time=np.datetime64("2026-01-01", "ms")
            + frame["epoch"].to_numpy() * np.timedelta64(1, "s")
        ),
        500,
    )["time"]
    assert times[1] == pd.Timestamp("2026-01-01 00:00:08")


def test_thinning_an_empty_frame() -> None:
    assert thin(pd.DataFrame({"epoch": pd.Series(dtype=float)})).empty


def test_both_themes_share_the_palette() -> None:
    assert set(TEMPLATES) == {"light", "dark"}
    assert {tuple(template.layout.colorway) for template in TEMPLATES.values()} == {CATEGORICAL}
    assert TEMPLATES["light"].layout.font.color != TEMPLATES["dark"].layout.font.color
