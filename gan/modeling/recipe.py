"""What a model brings to the training step. `gan/models/<name>/recipe.py` has a class `Recipe`;
everything else is shared by all models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import keras
import numpy as np
import numpy.typing as npt
import tensorflow as tf

from ganboard.gan.config import RunConfig
from ganboard.gan.modeling.gradients import Shares, State, Tensors
from ganboard.gan.settings import registry


class Phase(NamedTuple):
    """One update within a training step: whose weights are updated, whether its metrics are logged,
    and other properties."""

    d: bool
    g: bool
    log_metrics: bool = True  # the metrics of several phases are added up
    kind: str = ""


class Evaluator(Protocol):
    """Says how good a generator is. `remarks` are sentences for a person, `facts` what there is to
    know for `gan.events.Facts` after each evaluation."""

    remarks: list[str]
    facts: dict[str, Any]

    def __call__(self, generator: keras.Model) -> tuple[dict[str, float], tuple[float, ...]]:
        """Measures, named as in `metrics.py` of the model's folder and NaN where they cannot be
        taken, and shares of classes (empty: there are none)."""


class Recipe(Protocol):
    """A model as the training step sees it, for one configuration. An example is a row in each of
    several arrays. A recipe may have `curriculum(epoch, order)`, which gives the examples of an
    epoch for the order in which each would be seen once."""

    phases: Sequence[Phase]
    terms: Sequence[str]  # metrics of the model's own, after `gan.modeling.gradients.METRICS`
    form: str  # how the networks are computed, in words

    def __init__(self, config: RunConfig) -> None: ...

    def networks(self) -> tuple[keras.Model, keras.Model]:
        """Fresh generator and discriminator, a pure function of the configuration; called inside
        the strategy's scope."""

    def columns(self, data: Any) -> Any:
        """The whole data set as tensors in host memory."""

    def rows(self, columns: Any, batch: tf.Tensor) -> list[tf.Tensor]:
        """The examples `batch` [batch_size], each array of fixed shape [batch_size, ...]; called on
        the host."""

    def pictures(self, examples: Any) -> npt.NDArray[np.uint8]:
        """Real examples for display: pictures [n, H, W, C], at least as many as a grid has, if
        available."""

    def grid(self, generator: keras.Model, examples: Any) -> npt.NDArray[np.float32]:
        """Pictures [grid_size ** 2, H, W, C] in [-1, 1] of what G makes, always of the same noise
        and conditions."""

    def evaluator(
        self, data: Any, data_dir: Path, cache_dir: Path, progress: Callable[[float], None]
    ) -> Evaluator:
        """What compares with `data`, all of it whatever `config.limit`; called outside any
        strategy's scope. Raises ConfigError."""

    def example(self, rows: int) -> list[tf.Tensor]:
        """Arrays like a replica's part of `rows`, with any values."""

    def draws(self, phase: Phase, own: Sequence[tf.Tensor], draw: tf.Tensor, row: tf.Tensor) -> Any:
        """What one micro-batch is made of: its examples `own`, and random numbers as functions of
        (seed, `draw`, global `row`)."""

    def shares(
        self,
        generator: keras.Model,
        discriminator: keras.Model,
        state: State,
        draws: Any,
        scales: Tensors,
        phase: Phase,
    ) -> Shares:
        """Losses and gradients of this micro-batch: a pure function, the gradients multiplied by
        the loss scales of G and D."""


def make(config: RunConfig) -> Recipe:
    """The recipe of `config.model`."""
    found: Recipe = registry.of(config).part("recipe").Recipe(config)
    return found
