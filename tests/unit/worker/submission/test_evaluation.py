"""The evaluation of a sweep: after the last epoch by default, literal where it is set, and none
where the data cannot be evaluated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PIL import Image

from ganboard.db import requests
from ganboard.db.models import Run
from ganboard.gan.presets import values
from ganboard.worker.context import Context
from ganboard.worker.submission import evaluation, sweep
from ganboard.worker.submission.evaluation import Evaluation

MakeRun = Callable[..., Run]
TINY = values("tiny")


def by_default(context: Context, varied: sweep.Axes, **base: Any) -> Evaluation:
    return evaluation.by_default(context, {**TINY, **base}, varied)


def pictures(context: Context, name: str, count: int) -> dict[str, Any]:
    """The settings of runs on so many pictures without labels."""
    folder = context.settings.data / name
    folder.mkdir(parents=True)
    random = np.random.default_rng(0)
    for number in range(count):
        pixels = random.integers(0, 256, (28, 28), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{number}.png")
    return {"dataset": "images", "images_path": name, "limit": None, "batch_size": 16}


def test_all_runs_are_evaluated_after_the_longest_training(context: Context) -> None:
    found = by_default(context, {"batch_size": [16, 32]}, epochs=7)
    assert found.settings == {"quality_every": 7}
    assert found.sentence == (
        "Each run is evaluated after its last epoch (quality_every). What that takes is known"
        " after the first evaluation."
    )
    assert by_default(context, {"epochs": [3, 9, 5]}).settings == {"quality_every": 9}
    assert by_default(context, {"seed": [0, 1]}, epochs=100_000).settings == {
        "quality_every": 10_000
    }


def test_what_it_takes_is_that_of_evaluations_like_it(context: Context, make_run: MakeRun) -> None:
    make_run("evaluated", epochs=3, quality_every=1)  # 0.4 s each, and 2 s before the first
    assert "takes about 2.4 s per run (measured on 3 evaluations)." in (
        by_default(context, {"seed": [0, 1]}).sentence
    )
    assert "is known after the first" in (
        by_default(context, {"seed": [0, 1]}, quality_images=500).sentence
    )


def test_data_that_cannot_be_evaluated_are_trained_without(context: Context) -> None:
    few, enough = pictures(context, "few", 199), pictures(context, "enough", 200)
    found = by_default(context, {"seed": [0, 1]}, **few)
    assert found.settings == {}
    assert "The runs are not evaluated. An evaluation needs 200 real examples" in found.sentence
    assert by_default(context, {"seed": [0, 1]}, **enough).settings
    both = by_default(context, {"images_path": ["enough", "few"]}, **{**few, "images_path": ""})
    assert both.settings == {}
    weights = by_default(context, {"seed": [0]}, **enough, quality_features="inception")
    assert "The weights of InceptionV3 (quality_features=inception) are not here" in (
        weights.sentence
    )


def test_what_is_set_is_literal() -> None:
    def said(base: dict[str, Any], varied: sweep.Axes) -> str:
        found = evaluation.as_set(base, varied)
        assert found.settings == {}
        return found.sentence

    assert said({"quality_every": 5}, {}) == (
        "Each run is evaluated every 5 epochs and after the last (quality_every)."
    )
    assert said({}, {"quality_every": [0, 1]}) == "The runs are evaluated as quality_every says."
    assert said({"quality_every": 0}, {}) == "The runs are not evaluated (quality_every=0)."


def test_finished_runs_without_evaluation_count_and_are_evaluated(
    context: Context, make_run: MakeRun
) -> None:
    without = make_run("without", epochs=2)
    evaluated = make_run("evaluated", epochs=2, seed=1, quality_every=2)
    varied = {"seed": [0, 1, 2]}
    default = by_default(context, varied)
    grid = sweep.examine(context, TINY, varied, title="tiny", evaluation=default)
    assert [member.finished for member in grid] == [without.id, evaluated.id, None]
    assert {member.config.quality_every for member in grid if member.config} == {2}
    literal = sweep.examine(context, TINY, varied, title="tiny")
    assert [member.finished for member in literal] == [without.id, None, None]
    assert {member.config.quality_every for member in literal if member.config} == {0}
    reused = [without.id, evaluated.id]
    assert sweep.evaluate_reused(context, reused, Evaluation("none")) == []
    assert requests.newest_evaluations(context.engine) == {}
    assert sweep.evaluate_reused(context, reused, default) == [without.id]
    assert list(requests.newest_evaluations(context.engine)) == [without.id]


@pytest.mark.parametrize(
    ("model", "settings"),
    [
        ("gan3d", {"dataset": "showers", "geometry": "25x25x25"}),
        ("pix2pix", {"dataset": "vortex_street", "geometry": "64x64"}),
        ("cdcgan", {"dataset": "digits"}),
    ],
)
def test_other_models_are_evaluated_too(
    context: Context, model: str, settings: dict[str, Any]
) -> None:
    base = {"model": model, "epochs": 4, **settings}
    found = evaluation.by_default(context, base, {"seed": [0, 1]})
    assert found.settings == {"quality_every": 4}
