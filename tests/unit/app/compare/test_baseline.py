"""Which run is the baseline while nobody chooses one."""

from __future__ import annotations

from typing import Any

from ganboard.app.compare.baseline import usual
from ganboard.db.models import Run
from ganboard.gan.presets import load


def run(number: int, *, preset: str = "tiny", external: bool = False, **settings: Any) -> Run:
    config = load("tiny").model_dump(mode="json") | settings
    return Run(name=str(number), number=number, preset=preset, config=config, external=external)


def test_the_one_with_the_settings_of_its_preset() -> None:
    runs = [run(3), run(1, batch_size=64), run(2, seed=9, checkpoint_every=7)]
    assert usual(runs).number == 2  # the seed and what is recorded make no other preset
    older = run(1)
    del older.config["xla"]  # as of a version without it
    assert usual([run(5), older]).number == 1


def test_the_one_that_differs_least_from_its_preset() -> None:
    batches = [run(n, batch_size=size, xla=True) for n, size in ((1, 128), (2, 64))]
    assert usual([*batches, run(3, xla=True, seed=4)]).number == 3
    assert usual([*batches, run(4, preset="gone")]).number == 1


def test_else_the_oldest_which_is_the_corner_of_a_sweep() -> None:
    sweep = [run(n, batch_size=size) for n, size in ((12, 128), (10, 64), (11, 96))]
    assert usual(sweep).number == 10
    assert usual([run(7, preset="gone"), run(6, preset="", xla=True)]).number == 6
    assert usual([run(7, external=True), run(6, batch_size=64)]).number == 6
