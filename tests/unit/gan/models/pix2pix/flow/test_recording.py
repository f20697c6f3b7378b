"""Plans of recordings, and recipes that cannot be computed."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ganboard.gan.models.pix2pix.flow.frames import write
from ganboard.gan.models.pix2pix.flow.obstacle import FlowError, Obstacle
from ganboard.gan.models.pix2pix.flow.recording import Case, plan
from tests.unit.gan.models.pix2pix.flow.recordings import RECORDING


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"frames": 1}, "frames=1 lies outside the limits of 2 and 100,000"),
        ({"every": 0}, "every=0 lies outside the limits of 1 and 10,000"),
        ({"discard": -5}, "discard=-5 lies outside the limits of 1"),
        ({"seed": -1}, "seed=-1 lies outside the limits of 0"),
        ({"cases": RECORDING.cases * 334}, "1,002 flows exceed the limit of 1,000: name fewer"),
        ({"cases": ()}, "0 flows are left to train with, at least 1 is needed"),
        ({"cases": RECORDING.cases[1:]}, "0 flows are left to train with"),
        ({"cases": (Case(Obstacle("circle", 4), 300),)}, "Reynolds number 300 needs tau"),
        ({"speed": 0.3}, "An inlet speed of 0.3"),
    ],
)
def test_a_recipe_that_cannot_be_computed_is_refused_before_any_work(
    tmp_path: Path, change: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(FlowError, match=re.escape(sentence)):
        write(tmp_path / "streets", replace(RECORDING, **change))
    assert list(tmp_path.iterdir()) == []


def test_a_plan_adds_what_is_held_out() -> None:
    cases = plan([80, 100], ["circle", "square"], ["90", "rectangle:2"], diameter=9)
    assert len(cases) == 9
    train = {(case.obstacle.name, case.reynolds) for case in cases if not case.held_out}
    assert train == {("circle", 80), ("circle", 100), ("square", 80), ("square", 100)}
    assert {case.obstacle.diameter for case in cases} == {9}
    assert all(
        case.held_out
        for case in cases
        if case.reynolds == 90 or case.obstacle.name == "rectangle:2"
    )


def test_a_seed_moves_the_obstacles_a_little() -> None:
    one, again, other = (plan([80, 100, 120], ["circle"], seed=seed) for seed in (1, 1, 2))
    assert one == again != other
    places = {(case.obstacle.x, case.obstacle.y) for case in one}
    assert len(places) == 3
    assert all(abs(x - 0.2) <= 0.04 and abs(y - 0.5) <= 0.1 for x, y in places)
    assert {case.bump for seed in range(9) for case in plan([80], ["circle"], seed=seed)} == {
        -0.05,
        0.05,
    }
