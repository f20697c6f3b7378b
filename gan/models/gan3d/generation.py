"""What is asked of a 3DGAN: showers of particles with these energies, and angles."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import keras
import numpy as np
import tensorflow as tf
from pydantic import BaseModel, ConfigDict, Field

from ganboard.gan.generation import paint
from ganboard.gan.generation.generation import MAX_EXAMPLES, Floats
from ganboard.gan.generation.latent_requests import (
    MAX_SEED,
    InvalidRequest,
    LatentRequest,
    Nearest,
    Seed,
)
from ganboard.gan.models.gan3d import losses, networks, rendering
from ganboard.gan.models.gan3d.config import Config
from ganboard.gan.models.gan3d.data.layouts import LAYOUTS
from ganboard.gan.models.gan3d.evaluation import comparison
from ganboard.gan.models.gan3d.observables import Observed
from ganboard.gan.models.gan3d.source import LAYOUT
from ganboard.gan.rng import tf_philox
from ganboard.gan.rng.philox import Purpose

_GEV, _RIGHT = 100.0, 90.0  # a unit of energy in latents; degrees of the fixed angle
_EVENTS = 128  # of a comparison

Energies = Annotated[
    list[Annotated[float, Field(ge=2, le=500)]], Field(min_length=1, max_length=MAX_EXAMPLES)
]
Angles = Annotated[
    list[Annotated[float, Field(ge=60, le=120)]], Field(min_length=1, max_length=MAX_EXAMPLES)
]


def draw(generator: keras.Model, config: Config, request: LatentRequest) -> Floats:
    """Showers seen from the side, [n, side, side, 1] in [-1, 1]. Raises InvalidRequest."""
    if isinstance(request, Nearest):
        raise InvalidRequest(
            f"Training images are compared with images, and model={config.model} makes showers:"
            " draw or interpolate."
        )
    geometry = config.geometry
    if request.angle is not None and geometry != "51x51x25":
        raise InvalidRequest(
            f"angle has no meaning for geometry={geometry}, whose angle is 90 degrees: leave it"
            " out."
        )
    noise = request.points(partial(paint.normal, width=networks.noise(config)))
    angle = _RIGHT if request.angle is None else request.angle
    particle = np.array([(request.energy or _GEV) / _GEV, math.radians(angle), 0.0], np.float32)
    latents = np.asarray(networks.latents(config, noise, np.tile(particle, (len(noise), 1))))
    pictures = []
    for first in range(0, len(latents), Generation.together):
        showers = paint.images(generator, latents[first : first + Generation.together])[..., 0]
        pictures.append(rendering.side(showers, losses.POWERS[geometry]))
    projected = np.concatenate(pictures)
    missing = projected.shape[1] - projected.shape[2]
    return np.pad(
        projected,
        ((0, 0), (0, 0), (missing // 2, missing - missing // 2), (0, 0)),
        constant_values=-1,
    )


class Request(BaseModel):
    """One shower for each of `energies` (GeV), at `angles` (degrees) where the geometry has them;
    noise `first` and following of `seed`."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    energies: Energies
    angles: Angles | None = None
    seed: Seed = 0
    first: Annotated[int, Field(ge=0, le=MAX_SEED)] = 0


class Generation:
    """See `gan.generation.generation.Generation`."""

    request = Request
    output = "showers"
    together = 8

    def __init__(self, config: Config) -> None:
        self.config, self.geometry = config, config.geometry
        self.layout = LAYOUTS[LAYOUT[self.geometry]]
        self._turns = self.geometry == "51x51x25"

    def signature(self) -> dict[str, Any]:
        return {
            "inputs": Request.model_json_schema()["properties"],
            "outputs": {
                self.output: {
                    "shape": [None, *self.layout.shape],
                    "dtype": "float32",
                    "range": [0, None],
                    "unit": "GeV",
                }
            },
        }

    def inputs(self, asked: Request) -> Floats:
        if asked.angles is not None and not self._turns:
            raise InvalidRequest(
                f"angles have no meaning for geometry={self.geometry}, whose angle is {_RIGHT:g}"
                " degrees: leave them out."
            )
        angles = asked.angles or [_RIGHT] * len(asked.energies)
        if len(angles) != len(asked.energies):
            raise InvalidRequest(
                f"{len(asked.energies)} energies and {len(angles)} angles do not belong together:"
                " give one angle for each energy."
            )
        return self._latents(
            np.array(asked.energies), np.array(angles), asked.seed, asked.first, Purpose.GRID
        )

    def outputs(self, made: Floats) -> Floats:
        cells: Floats = np.maximum(made[..., 0], 0) ** np.float32(1 / self.layout.power)
        return cells / np.float32(self.layout.xscale * self.layout.per_gev)

    def pictures(self, made: Floats) -> Floats:
        return rendering.side(made[..., 0], losses.POWERS[self.geometry])

    def probe(self) -> Floats:
        return self.inputs(Request(energies=[100.0]))

    def examples(self, data_dir: Path) -> Floats:
        return self._latents(*_particles(self._turns), self.config.seed, 0, Purpose.QUALITY)

    def compare(
        self, full: Floats, other: Floats, data_dir: Path, cache_dir: Path
    ) -> tuple[dict[str, float], float]:
        """Worse by the objective against the full version's showers, less what they say of
        themselves: it sums relative differences."""
        energies, angles = _particles(self._turns)
        observed = [
            Observed.of(self.outputs(made), energies, np.radians(angles)) for made in (full, other)
        ]
        itself, found = (comparison.compare(observed[0], one).numbers for one in observed)
        names = (
            "objective.total",
            "objective.moment",
            "objective.profile",
            "objective.angle",
            "sampling_fraction.error",
        )
        fractions = {
            f"sampling_fraction{part}": float(one.sampling_fraction.mean())
            for part, one in zip(("_full", ""), observed, strict=True)
        }
        worse = 100 * (found["objective.total"] - itself["objective.total"])
        return {name: found[name] for name in names} | {
            "objective.total_full": itself["objective.total"]
        } | fractions, worse

    def _latents(
        self, energies: Any, angles: Any, seed: int, first: int, purpose: Purpose
    ) -> Floats:
        labels = np.stack([energies / _GEV, np.radians(angles), np.zeros(len(energies))], 1).astype(
            np.float32
        )
        noise = tf_philox.normal(
            seed,
            purpose,
            tf.constant(0),
            tf.constant(first),
            len(labels),
            networks.noise(self.config),
        )
        latents: Floats = networks.latents(self.config, noise, labels).numpy()
        return latents


def _particles(turns: bool) -> tuple[Any, Any]:
    """Energies of 100 to 200 GeV, and angles of 60 to 120 degrees in another order: every pair of
    low and high is there."""
    at = np.arange(_EVENTS)
    angles = 60 + 60 * (at * 37 % _EVENTS) / (_EVENTS - 1)
    return 100 + 100 * at / (_EVENTS - 1), angles if turns else np.full(_EVENTS, _RIGHT)
