"""Makes the layers of one network: numbered, with the run's precision, each with a seed of its own."""

from __future__ import annotations

from typing import Any

import keras

from ganboard.gan.config import RunConfig
from ganboard.gan.layers.normalization import BatchNormalization, synchronized
from ganboard.gan.rng import philox


class Maker:
    """`net` is 0 for a generator, 1 for a discriminator. What follows a layer with weights has that
    layer's number."""

    slope = 0.3  # of LeakyReLU
    epsilon = 1e-3  # of batch norm

    def __init__(self, config: RunConfig, net: int) -> None:
        self.config, self.net, self.count = config, net, 0
        self.policy = keras.DTypePolicy(config.precision)

    def seed(self) -> int:
        """For the weights of the next layer."""
        self.count += 1
        return philox.layer_seed(self.config.seed, self.net, self.count)

    def norm(self) -> Any:
        options = {
            "epsilon": self.epsilon,
            "synchronized": synchronized(self.config),
            "dtype": self.policy,
        }
        return BatchNormalization(name=f"norm_{self.count}", **options)

    def relu(self) -> Any:
        return keras.layers.ReLU(dtype=self.policy, name=f"relu_{self.count}")

    def leaky(self) -> Any:
        return keras.layers.LeakyReLU(self.slope, dtype=self.policy, name=f"leaky_{self.count}")
