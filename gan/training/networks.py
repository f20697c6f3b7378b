"""Both networks of a run with all that a checkpoint of them holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import numpy.typing as npt

from ganboard.gan.config import RunConfig
from ganboard.gan.modeling import recipe
from ganboard.gan.modeling.recipe import Recipe
from ganboard.gan.training import optimizers

Weights = npt.NDArray[np.float32]  # of one tensor


@dataclass(frozen=True)
class Networks:
    """Both nets, their optimizers, and with `ema` the moving average of the generator."""

    generator: keras.Model
    discriminator: keras.Model
    g_optimizer: keras.Optimizer
    d_optimizer: keras.Optimizer
    average: keras.Model | None

    @property
    def eval_generator(self) -> keras.Model:
        """The generator that is drawn from and evaluated: the average where there is one."""
        return self.average or self.generator

    @property
    def tensors(self) -> list[str]:
        """Names of all trained tensors, D's first, as `bad_tensor` counts them."""
        return [
            f"{net.name}/{v.path}"
            for net in (self.discriminator, self.generator)
            for v in net.trainable_variables
        ]

    def weights(self) -> tuple[list[Weights], list[Weights]]:
        """Copies of all trained tensors of G and of D."""
        g = [v.numpy() for v in self.generator.trainable_variables]
        d = [v.numpy() for v in self.discriminator.trainable_variables]
        return g, d

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Everything that a checkpoint must hold, by name."""
        return {name: variable.numpy() for name, variable in self._variables()}

    def assign(self, arrays: Mapping[str, np.ndarray[Any, Any]]) -> None:
        """Take over `arrays`, which must have the names and shapes of `self.arrays()`."""
        for name, variable in self._variables():
            variable.assign(arrays[name])

    def variables(self) -> list[keras.Variable]:
        """All that a checkpoint must hold, in the order of `arrays`."""
        return [variable for _, variable in self._variables()]

    def _variables(self) -> Iterator[tuple[str, keras.Variable]]:
        parts = ((part, getattr(self, part)) for part in self.__dataclass_fields__)
        return (
            (f"{part}/{v.path}", v)
            for part, owner in parts
            if owner is not None
            for v in owner.variables
        )


def networks(config: RunConfig, model: Recipe | None = None) -> Networks:
    """Fresh nets and optimizers, a pure function of the configuration; call it inside the
    strategy's scope."""
    model = model or recipe.make(config)
    g, d = model.networks()
    g_optimizer = optimizers.make(config, config.g_learning_rate)
    d_optimizer = optimizers.make(config, config.d_learning_rate)
    g_optimizer.build(g.trainable_variables)
    d_optimizer.build(d.trainable_variables)
    average = model.networks()[0] if config.ema else None
    return Networks(g, d, g_optimizer, d_optimizer, average)
