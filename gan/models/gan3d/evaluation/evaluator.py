"""Evaluates generated showers as 3DGAN's own validation does (`comparison`), for the particles of
the data set's last events."""

from __future__ import annotations

import math
from typing import Any

import keras
import numpy as np
import numpy.typing as npt
import tensorflow as tf

from ganboard.gan.config import ConfigError
from ganboard.gan.data.dataset import DatasetError
from ganboard.gan.models.gan3d import networks
from ganboard.gan.models.gan3d.config import Config
from ganboard.gan.models.gan3d.data.layouts import LAYOUTS
from ganboard.gan.models.gan3d.data.reader import ENERGY_UNIT
from ganboard.gan.models.gan3d.data.showers import Showers
from ganboard.gan.models.gan3d.evaluation import comparison
from ganboard.gan.models.gan3d.metrics import METRICS, MINIMUM
from ganboard.gan.models.gan3d.observables import Observed
from ganboard.gan.models.gan3d.source import LAYOUT
from ganboard.gan.rng import tf_philox
from ganboard.gan.rng.philox import Purpose

_TOGETHER = 32  # events in memory with all their cells


class Evaluator:
    """See `gan.modeling.recipe.Evaluator`. The last events, so that a run with a `limit` is
    evaluated by showers that it never saw."""

    def __init__(self, config: Config, showers: Showers) -> None:
        if len(showers) < MINIMUM:
            raise ConfigError(
                f"quality_every needs {MINIMUM} showers and there are {len(showers)}: set"
                " quality_every to 0."
            )
        self._config, self._layout = config, LAYOUTS[LAYOUT[config.geometry]]
        count = min(config.quality_images, len(showers))
        first = len(showers) - count
        self._labels = showers.labels[first:]
        self._reference = Observed.join(
            [self._observed(showers.dense(first + a, first + b), a, b) for a, b in self._portions()]
        )
        self.facts: dict[str, Any] = {}
        self.remarks = []
        if count < config.quality_images:
            self.remarks.append(
                f"quality_images={config.quality_images:,} is more than the {count:,} showers: all"
                " of these are compared with."
            )

    def __call__(self, generator: keras.Model) -> tuple[dict[str, float], tuple[float, ...]]:
        try:
            made = Observed.join(
                [self._observed(self._made(generator, a, b), a, b) for a, b in self._portions()]
            )
        except DatasetError:  # cells that are no energies
            return {metric.name: math.nan for metric in METRICS}, ()
        found = comparison.compare(self._reference, made)
        self.facts["validation"] = comparison.validation(found, len(made)).model_dump()
        return {metric.name: found.numbers[metric.compared_as] for metric in METRICS}, ()

    def _made(self, generator: keras.Model, first: int, last: int) -> npt.NDArray[np.float32]:
        none, width = tf.constant(0), networks.noise(self._config)
        noise = tf_philox.normal(
            self._config.seed, Purpose.QUALITY, none, tf.constant(first), last - first, width
        )
        made: npt.NDArray[np.float32] = generator(
            networks.latents(self._config, noise, self._labels[first:last]), training=False
        ).numpy()
        return made[..., 0]

    def _observed(self, images: npt.NDArray[np.float32], first: int, last: int) -> Observed:
        layout, labels = self._layout, self._labels[first:last]
        cells = images ** np.float32(1 / layout.power) / np.float32(layout.per_gev * layout.xscale)
        return Observed.of(cells, labels[:, 0] * ENERGY_UNIT, labels[:, 1])

    def _portions(self) -> list[tuple[int, int]]:
        count = len(self._labels)
        return [(first, min(first + _TOGETHER, count)) for first in range(0, count, _TOGETHER)]
