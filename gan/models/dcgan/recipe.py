"""How DCGAN is trained: both nets at once from the same forward pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
import numpy.typing as npt
import tensorflow as tf

from ganboard.gan.data.dataset import Dataset
from ganboard.gan.devices import runtime
from ganboard.gan.modeling import losses, samples, simultaneous
from ganboard.gan.modeling.gradients import Shares, State, Tensors, forward
from ganboard.gan.modeling.recipe import Phase
from ganboard.gan.modeling.simultaneous import Draws, Parts, Run
from ganboard.gan.models.dcgan import architecture, networks
from ganboard.gan.models.dcgan.config import Config
from ganboard.gan.quality.evaluator import Evaluator
from ganboard.gan.rng import streams
from ganboard.gan.rng.philox import Purpose


class Recipe:
    """See `gan.modeling.recipe.Recipe`; the data are images [N, 28, 28, 1] uint8."""

    terms = ()

    def __init__(self, config: Config) -> None:
        self.config = config
        self.phases = simultaneous.phases(config)
        forms = architecture.forms(config, on_cpu=not runtime.accelerated())
        self.form = f"{forms.first} convolution"

    def networks(self) -> tuple[keras.Model, keras.Model]:
        return networks.generator(self.config), networks.discriminator(self.config)

    def columns(self, data: np.ndarray[Any, Any]) -> list[tf.Tensor]:
        return [tf.constant(data)]

    def rows(self, columns: Sequence[tf.Tensor], batch: tf.Tensor) -> list[tf.Tensor]:
        return [
            tf.ensure_shape(
                tf.gather(columns[0], batch), [self.config.batch_size, *architecture.SHAPE]
            )
        ]

    def pictures(self, examples: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        return examples

    def grid(
        self, generator: keras.Model, examples: npt.NDArray[np.uint8]
    ) -> npt.NDArray[np.float32]:
        return samples.grid(self.config, generator)

    def evaluator(
        self, data: Dataset, data_dir: Path, cache_dir: Path, progress: Callable[[float], None]
    ) -> Evaluator:
        return Evaluator(self.config, data, cache_dir, progress, data_dir=data_dir)

    def example(self, rows: int) -> list[tf.Tensor]:
        return [tf.zeros([rows, *architecture.SHAPE], tf.uint8)]

    def draws(
        self, phase: Phase, own: Sequence[tf.Tensor], draw: tf.Tensor, row: tf.Tensor
    ) -> Draws:
        seed, rows, calls = self.config.seed, self.config.micro_batch, len(architecture.MASKS)
        random = streams.of(self.config)
        noise = random.normal(seed, Purpose.NOISE, draw, row, rows, self.config.latent_dim)
        mix = random.uniform(seed, Purpose.PENALTY, draw, row, rows, 1)[:, :, None, None]
        masks = random.masks(seed, architecture.DROPOUT, draw, row, rows, architecture.MASKS * 2)
        return Draws(own[0], [], noise, [], masks[:calls], masks[calls:], mix)

    def shares(
        self,
        generator: keras.Model,
        discriminator: keras.Model,
        state: State,
        draws: Draws,
        scales: Tensors,
        phase: Phase,
    ) -> Shares:
        parts = Parts(
            self._run(generator),
            self._run(discriminator),
            generator_share=self._share,
            # batch norm makes each logit a function of all images
            separate=not self.config.examples_mix_in_d,
        )
        return simultaneous.shares(self.config, parts, state, draws, scales, train_g=phase.g)

    def _run(self, net: keras.Model) -> Run:
        def run(
            weights: Tensors, statistics: Tensors, inputs: Tensors, masks: Tensors
        ) -> tuple[tf.Tensor, Tensors]:
            [x] = inputs
            return forward(net, weights, statistics, x, masks, recompute=self.config.recompute)

        return run

    @staticmethod
    def _share(config: Config, real: tf.Tensor, fake: tf.Tensor) -> tf.Tensor | None:
        return None if config.examples_mix_in_d else losses.generator_share(config, real, fake)
