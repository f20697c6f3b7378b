"""What stands for WebGL until it has started."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from ganboard.worker.figures.many.sketch import POINTS, sketch

MANY = 10_000
RANDOM = np.random.default_rng(0)
X, Y = RANDOM.normal(size=MANY), RANDOM.normal(size=MANY)


def dots(x: Any = X, y: Any = Y, **style: Any) -> go.Scattergl:
    text = {"text": ["a"] * len(x), "customdata": [[1]] * len(x), "meta": ["b"]}
    return go.Scattergl(uid="dots", x=x, y=y, mode="markers", name="Runs", **text, **style)


def test_figures_without_webgl_have_none() -> None:
    assert sketch(go.Figure([go.Scatter(x=X, y=Y)])) == []


def test_some_dots_keep_look_and_extent() -> None:
    [made] = sketch(go.Figure([dots(marker={"size": 4})]))
    go.Figure([made])  # Plotly accepts it
    assert POINTS <= len(made["x"]) <= POINTS + 4
    assert (made["x"].min(), made["x"].max()) == (X.min(), X.max())
    assert (made["y"].min(), made["y"].max()) == (Y.min(), Y.max())
    assert {(a, b) for a, b in zip(made["x"], made["y"], strict=True)} <= set(
        zip(X, Y, strict=True)
    )
    assert (made["type"], made["marker"], made["name"]) == ("scatter", {"size": 4}, "Runs")
    assert not {"text", "customdata", "meta"} & made.keys()


def test_many_groups_share_the_points() -> None:
    made = sketch(go.Figure([dots() for _ in range(8)]))
    assert POINTS - 8 < sum(len(one["x"]) for one in made) <= POINTS + 8 * 4


def test_what_is_not_finite_is_left_out() -> None:
    gaps = np.where(np.arange(MANY) % 2, np.nan, X)
    [made] = sketch(go.Figure([dots(gaps)]))
    assert np.isfinite(made["x"]).all()
    [none] = sketch(go.Figure([dots(np.full(MANY, np.nan))]))
    assert not len(none["x"])


def test_short_lines_stay_whole_and_long_ones_wait() -> None:
    line = {"mode": "lines"}
    front = go.Scattergl(uid="front", x=[1, 2, 3], y=[3, 2, 2], **line)
    courses = go.Scattergl(uid="courses", x=X, y=Y, **line)
    [made] = sketch(go.Figure([courses, front]))
    assert (made["uid"], made["x"].tolist(), made["y"].tolist()) == ("front", [1, 2, 3], [3, 2, 2])
