"""A TPU that is not there: TensorFlow's own TPUStrategy, given cores that are simulated on this
machine's CPU.

Everything up to running a program is real: variables with one copy per core, tracing, the exchange
between cores. Running needs a TPU.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf


class _Device(NamedTuple):
    name: str
    device_type: str


class Resolver(tf.distribute.cluster_resolver.TPUClusterResolver):  # type: ignore[misc]
    """Answers as that of a TPU VM with `cores` cores would."""

    def __init__(self, cores: int, tpu: str = "local") -> None:
        super().__init__(tpu=tpu)
        self.cores = cores

    def get_tpu_system_metadata(self) -> Any:
        devices = [
            _Device(f"/job:localhost/replica:0/task:0/device:TPU:{core}", "TPU")
            for core in range(self.cores)
        ]
        return tf.tpu.experimental.TPUSystemMetadata(self.cores, 1, self.cores, None, devices)


def strategy(cores: int) -> tf.distribute.TPUStrategy:
    made = tf.distribute.TPUStrategy(Resolver(cores))
    made.extended._tpu_devices = np.array(
        [["/job:localhost/replica:0/task:0/device:CPU:0"]] * cores, dtype=object
    )
    return made
