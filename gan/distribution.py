"""The tf.distribute strategy of a run."""

from __future__ import annotations

import tensorflow as tf

from gan.config import RunConfig


def strategy(config: RunConfig) -> tf.distribute.Strategy:
    """One device, or `replicas` GPUs, or with too few GPUs as many logical CPU devices (made by `gan.runtime.prepare`).

    Replicas on logical CPU devices share the same cores: they show that the result is right, not how fast several devices are.
    """
    if config.effective_strategy == "default":
        return tf.distribute.get_strategy()
    names = [device.name for device in tf.config.list_logical_devices("GPU")]
    if len(names) < config.replicas:
        names = [device.name for device in tf.config.list_logical_devices("CPU")]
    assert len(names) >= config.replicas, f"{len(names)} devices for {config.replicas} replicas: call gan.runtime.prepare first"
    return tf.distribute.MirroredStrategy([name.removeprefix("/device:") for name in names[: config.replicas]])
