"""The front of cost and quality, and its figure."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ganboard.worker.figures.many import frontier
from ganboard.worker.figures.palette import CATEGORICAL

NAN = float("nan")
NUMBERS = st.sampled_from([1.0, 2.0, 3.0, 4.0, NAN, float("inf"), -float("inf")])


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        ([], [], []),
        ([3, 1, 2], [1, 3, 2], [1, 2, 0]),  # in the order of the cost
        ([1, 2, 3], [5, 6, 4], [0, 2]),  # one that is dearer and worse
        ([1, 1, 2], [5, 4, 4], [1]),  # of one cost the better, of one value the cheaper
        ([2, 2], [3, 3], [0]),  # of equal ones the first
        ([1, NAN, 2], [NAN, 0, 7], [2]),
        ([1, 2], [-np.inf, 3], [1]),  # a distance that is not finite is none
    ],
)
def test_front(x: list[float], y: list[float], expected: list[int]) -> None:
    assert frontier.front(x, y).tolist() == expected


def test_front_where_more_is_better() -> None:
    assert frontier.front([1, 2, 3, 4], [0.2, 0.1, 0.5, 0.5], lower=False).tolist() == [0, 2]


@given(st.lists(st.tuples(NUMBERS, NUMBERS), max_size=12))
def test_nothing_beats_the_front_and_it_beats_all_else(drawn: list[tuple[float, float]]) -> None:
    x, y = np.array(drawn, dtype=float).reshape(-1, 2).T
    kept = frontier.front(x, y)

    def beats(one: int, other: int) -> bool:
        return bool(x[one] <= x[other] and y[one] <= y[other])

    known = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    assert set(kept) <= set(known)
    assert not [(a, b) for a in kept for b in kept if a != b and beats(a, b)]
    assert all(any(beats(one, other) for one in kept) for other in known)


def points(**changes: Any) -> pd.DataFrame:
    """Two runs: a was evaluated twice, b once."""
    rows = {
        "run_id": ["a", "a", "b"],
        "epoch": [1, 5, 2],
        "x": [1.0, 4.0, 2.0],
        "y": [9.0, 3.0, 5.0],
        "text": ["a", "a", "b"],
        "settings": pd.Categorical(["<br>8", "<br>8", "<br>64"], ["<br>4", "<br>8", "<br>64"]),
        "group": ["bf16", "bf16", "f32"],
        "grid": [1, 4, -1],
        "best": [False, True, True],
    }
    return pd.DataFrame(rows | changes)


def traces(**options: Any) -> dict[str, Any]:
    plot = frontier.scatter(points(), x="Training seconds", y="FID", **options)
    return {trace.uid: trace for trace in plot.data}


def test_every_run_is_a_dot_that_names_it_and_its_images() -> None:
    dots = traces()["runs-0"]
    assert (list(dots.x), list(dots.y)) == ([4, 2], [3, 5])
    assert [list(one) for one in dots.customdata] == [["a", 4, 5, 0], ["b", -1, 2, 1]]
    assert list(dots.meta) == ["<br>8", "<br>64"]  # what the last numbers stand for
    assert frontier.PICTURE.format(*dots.customdata[0]) == "/api/runs/a/grids/4.png"


def test_the_front_consists_of_evaluations_and_goes_on_to_the_end() -> None:
    found = traces()
    assert list(found["front-runs"].x) == [1, 2, 4]
    assert [one[0] for one in found["front-runs"].customdata] == ["a", "b", "a"]
    assert list(found["front"].x) == [1, 2, 4, 4]
    assert list(found["front"].y) == [9, 5, 3, 3]
    assert found["front"].line.shape == "hv"


def test_groups_differ_in_colour_and_symbol() -> None:
    found = traces(groups=["f32", "bf16"])
    assert [found[f"runs-{place}"].marker.color for place in (0, 1)] == [*CATEGORICAL[:2]]
    assert found["runs-0"].marker.symbol != found["runs-1"].marker.symbol
    assert list(found["runs-0"].x) == [2]


def test_courses_have_gaps_between_runs() -> None:
    assert "courses" not in traces()
    course = traces(courses=True)["courses"]
    np.testing.assert_array_equal(course.x, [1, 4, np.nan, 2])


def test_goal_and_chosen_evaluation() -> None:
    found = traces(goal=5.0, chosen=("a", 1))
    assert (list(found["goal"].x), list(found["goal"].y)) == ([1, 4], [5, 5])
    assert (list(found["chosen"].x), list(found["chosen"].y)) == ([1], [9])


def test_names_are_text_and_axes_are_as_asked() -> None:
    frame = points(group=["<b>", "<b>", "x"])
    plot = frontier.scatter(frame, x="s", y="FID", groups=["<b>", "x"], log_x=True, log_y=True)
    assert plot.data[0].name == "&lt;b&gt;"
    assert (plot.layout.xaxis.type, plot.layout.yaxis.type) == ("log", "log")


def test_no_evaluations_and_very_many() -> None:
    empty = frontier.scatter(points().iloc[:0], x="s", y="FID", goal=5.0, courses=True)
    assert all(not len(trace.x) for trace in empty.data)
    many = pd.concat([points()] * frontier.MAX_SVG)
    plot = frontier.scatter(many, x="s", y="FID")
    assert plot.data[0].type == "scattergl"
