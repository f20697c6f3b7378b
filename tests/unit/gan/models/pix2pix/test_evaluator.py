"""Predictions of flows evaluated in flows that were trained with and in those that were not."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ganboard.gan.config import RunConfig, parse
from ganboard.gan.data import DatasetError, catalog, load
from ganboard.gan.models.pix2pix import networks
from ganboard.gan.models.pix2pix.evaluator import Evaluator
from ganboard.gan.models.pix2pix.flow import frames
from ganboard.gan.models.pix2pix.flow.obstacle import Obstacle
from ganboard.gan.models.pix2pix.flow.recording import Case, Recording
from ganboard.gan.quality.declared import OF_MODEL

TRAINED = (Case(Obstacle("circle", 6), 80), Case(Obstacle("rectangle", 6), 60))
HELD_OUT = Case(Obstacle("circle", 8), 100, held_out=True)
STANDING = lambda inputs, training: SimpleNamespace(numpy=lambda: inputs[0][..., :3])  # noqa: E731


def config(**changes: Any) -> RunConfig:
    settings = {
        "model": "pix2pix",
        "dataset": "flow",
        "images_path": "street",
        "geometry": "64x64",
        "batch_size": 2,
        "quality_every": 1,
    }
    return parse({**settings, "quality_images": 200, **changes})


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    shape = {"frames": 5, "discard": 300, "every": 20}
    frames.write(folder / "street", Recording((*TRAINED, HELD_OUT), (72, 66), **shape))
    frames.write(folder / "all", Recording(TRAINED, (72, 66), **shape))
    return folder


def test_what_stands_still_is_as_far_as_nothing_moved(home: Path) -> None:
    evaluator = Evaluator(config(), load(config(), home))
    measures, classes = evaluator(STANDING)
    assert tuple(measures) == tuple(OF_MODEL["pix2pix"])
    assert classes == ()
    assert measures["l1"] == measures["l1_standing"] > 0
    assert measures["l1_train"] != measures["l1"]
    assert evaluator.remarks == [
        (
            "quality_images=200 is more than the 4 pairs of flows that are held out: all of these"
            " are compared with."
        ),
        (
            "quality_images=200 is more than the 8 pairs of flows that are trained with: all of"
            " these are compared with."
        ),
    ]
    pairs = frames.Frames(home / "street").pairs("held-out")
    moved = [
        np.abs(before[..., :3] - after).mean()
        for before, after in (pairs[i] for i in range(len(pairs)))
    ]
    assert measures["l1"] == pytest.approx(np.mean(moved), rel=0.5)  # windows of 64 of 66x72 cells


def test_a_fresh_generator_is_worse_and_evaluated_alike_each_time(home: Path) -> None:
    settings = config()
    evaluator = Evaluator(settings, load(settings, home))
    generator = networks.generator(settings, 4, 3)
    measures = evaluator(generator)
    assert measures == evaluator(generator)
    assert measures[0]["l1"] > measures[0]["l1_standing"]


def test_flows_without_any_held_out_are_refused_before_any_work(home: Path) -> None:
    with pytest.raises(
        DatasetError,
        match=(
            r"held-out flows, but the data have none. Create some with `ganboard data flow"
            r" --held-out`"
        ),
    ):
        catalog.check(config(images_path="all"), home)
    catalog.check(config(images_path="all", quality_every=0), home)
    catalog.check(config(), home)
