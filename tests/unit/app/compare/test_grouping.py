"""Runs in groups."""

from __future__ import annotations

from typing import Any

from ganboard.app.compare.grouping import SEEDS, groups
from ganboard.db.models import Run
from ganboard.gan.presets import load


def run(name: str, **settings: Any) -> Run:
    return Run(id=name, name=name, config=load("tiny").model_dump(mode="json") | settings)


def named(runs: list[Run], by: str) -> list[tuple[str, str]]:
    return [(name, "".join(one.id for one in own)) for name, own in groups(runs, by).items()]


def test_by_a_setting_in_the_order_of_its_values() -> None:
    runs = [run("a", batch_size=128), run("b", batch_size=16), run("c", batch_size=128, xla=True)]
    assert named(runs, "batch_size") == [("batch_size 16", "b"), ("batch_size 128", "ac")]
    assert named(runs, "xla") == [("xla off", "ab"), ("xla on", "c")]


def test_a_setting_that_some_runs_lack() -> None:
    runs = [run("a", limit=100), run("b", limit=None)]
    assert named(runs, "limit") == [("limit 100", "a"), ("limit none", "b")]


def test_everything_but_the_seed() -> None:
    runs = [run("a"), run("b", xla=True, seed=1), run("c", seed=2), run("d", quality_every=7)]
    assert named(runs, SEEDS) == [("xla off", "acd"), ("xla on", "b")]
    assert named(runs[::2], SEEDS) == [("a", "ac")]


def test_groups_that_words_do_not_tell_apart_have_ids() -> None:
    runs = [run("a", unknown=1), run("b", unknown=2)]
    runs[0].name = runs[1].name = "same"
    assert named(runs, SEEDS) == [("same (a)", "a"), ("same (b)", "b")]
