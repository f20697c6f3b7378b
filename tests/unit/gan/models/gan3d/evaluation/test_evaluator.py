"""Showers evaluated with the 3DGAN's own validation: real ones are good, a fresh generator's are
not."""

from __future__ import annotations

import json
import math
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from ganboard.gan.config import ConfigError, RunConfig, parse
from ganboard.gan.models.gan3d import architecture, networks
from ganboard.gan.models.gan3d.data import layouts
from ganboard.gan.models.gan3d.data.reader import sampled
from ganboard.gan.models.gan3d.data.sampler import Beam, Sampler
from ganboard.gan.models.gan3d.data.showers import Showers, gather
from ganboard.gan.models.gan3d.evaluation.evaluator import MINIMUM, Evaluator
from ganboard.gan.models.gan3d.validation import VALIDATION
from ganboard.gan.quality.declared import OF_MODEL
from ganboard.gan.settings.validation import Validation

EVENTS = 2 * MINIMUM
GEOMETRIES = ("25x25x25", "51x51x25")


def config(geometry: str = "25x25x25", **changes: Any) -> RunConfig:
    return parse(
        {
            "model": "gan3d",
            "dataset": "showers",
            "geometry": geometry,
            "quality_images": 200,
            "quality_every": 1,
            **changes,
        }
    )


@cache
def showers(geometry: str, seed: int = 3, events: int = EVENTS) -> Showers:
    layout = layouts.LAYOUTS["fixed" if geometry == "25x25x25" else "variable"]
    beam = Beam(theta_low=90, theta_high=90) if geometry == "25x25x25" else Beam()
    batch = sampled(list(Sampler(beam, seed=seed).events(events)), layout)
    return gather([batch], events, layout.shape)


def replay(images: np.ndarray) -> Any:
    """A generator that gives these images back, in their order."""
    rest = iter(images)
    return lambda latents, training: SimpleNamespace(
        numpy=lambda: np.stack([next(rest) for _ in latents])[..., np.newaxis]
    )


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_the_same_showers_are_perfect(geometry: str) -> None:
    evaluator, held = Evaluator(config(geometry), showers(geometry)), showers(geometry)
    measures, classes = evaluator(replay(held.dense(0, EVENTS)))
    assert tuple(measures) == tuple(OF_MODEL["gan3d"])
    assert classes == ()
    assert all(type(value) is float for value in measures.values())
    for name in ("moment_error", "profile_error", "sampling_error", "correlation_error", "empty"):
        assert measures[name] == pytest.approx(0, abs=1e-6), name
    assert measures["objective"] == pytest.approx(measures["angle_error"])
    # the angles that are asked for are those that were measured
    assert measures["angle_error"] < 1e-4
    assert evaluator.remarks == [
        "quality_images=200 is more than the 100 showers: all of these are compared with."
    ]
    drawn = Validation.model_validate(evaluator.facts["validation"])
    assert drawn.events == EVENTS
    assert set(drawn.curves) == set(VALIDATION.curves)
    assert all(curve.real == curve.generated for curve in drawn.curves.values())
    assert drawn.real == drawn.generated
    assert len(json.dumps(evaluator.facts)) < 40_000  # it is read with its run


def test_others_of_the_same_kind_are_better_than_a_fresh_generators() -> None:
    geometry: architecture.Geometry = "25x25x25"
    evaluator = Evaluator(config(), showers(geometry))
    others = evaluator(replay(showers(geometry, seed=4).dense(0, EVENTS)))[0]
    fresh = evaluator(networks.generator(config()))[0]
    assert others["objective"] < 0.3 < fresh["objective"]
    assert others["sampling_error"] < fresh["sampling_error"]


def test_the_last_events_are_compared_and_the_same_showers_made_each_time() -> None:
    config_, all_ = config(quality_images=200), showers("25x25x25", events=230)
    evaluator = Evaluator(config_, all_)
    assert evaluator.remarks == []
    assert evaluator(replay(all_.dense(30, 230)))[0]["objective"] < 1e-4
    generator = networks.generator(config_)
    assert evaluator(generator) == evaluator(generator)


def test_what_makes_no_energies_has_no_measures() -> None:
    broken = replay(np.full((EVENTS, 25, 25, 25), np.nan, np.float32))
    measures, _ = Evaluator(config(), showers("25x25x25"))(broken)
    assert all(math.isnan(value) for value in measures.values())
    nothing, _ = Evaluator(config(), showers("25x25x25"))(
        lambda latents, training: tf.zeros([len(latents), 25, 25, 25, 1])
    )
    assert nothing["empty"] == 1
    assert nothing["objective"] > 1


def test_too_few_showers_are_refused() -> None:
    with pytest.raises(
        ConfigError,
        match=r"^quality_every needs 50 showers and there are 10: set quality_every to 0\.$",
    ):
        Evaluator(config(), showers("25x25x25").first(10))
