"""The tf.distribute strategy of a run. Make it before any other operation runs: with several
processes TensorFlow asks for that."""

from __future__ import annotations

import signal

import tensorflow as tf

from ganboard.gan.config import RunConfig
from ganboard.gan.distributed import cluster, tpu


def strategy(config: RunConfig) -> tf.distribute.Strategy:
    """The strategy with `config.replicas` replicas; call `gan.devices.runtime.prepare` first.

    Raises ConfigError when strategy=multi_worker was not started as several processes or there is
    no such TPU, and TrainingFailed when a process does not join.
    """
    match config.effective_strategy:
        case "default":
            return tf.distribute.get_strategy()
        case "mirrored":
            return _mirrored(config)
        case "multi_worker":
            return _multi_worker(config)
        case _:
            return tpu.strategy(config)


def _mirrored(config: RunConfig) -> tf.distribute.Strategy:
    """On `replicas` GPUs, or with too few of them on as many logical CPU devices.

    Replicas on logical CPU devices share the same cores: they show that the result is right, not
    how fast several devices are.
    """
    names = [device.name for device in tf.config.list_logical_devices("GPU")]
    if len(names) < config.replicas:
        names = [device.name for device in tf.config.list_logical_devices("CPU")]
    assert len(names) >= config.replicas, (
        f"{len(names)} devices for {config.replicas} replicas: call"
        " ganboard.gan.devices.runtime.prepare first"
    )
    return tf.distribute.MirroredStrategy(
        [name.removeprefix("/device:") for name in names[: config.replicas]]
    )


def _multi_worker(config: RunConfig) -> tf.distribute.Strategy:
    """One replica in each process: on its GPU if it has one, else on the CPU."""
    cluster.own(config.replicas).meet()
    kinds = tf.distribute.experimental.CommunicationImplementation
    options = tf.distribute.experimental.CommunicationOptions(
        implementation=kinds.NCCL if tf.config.get_visible_devices("GPU") else kinds.RING
    )
    handler = signal.getsignal(signal.SIGTERM)
    made = tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)
    # TensorFlow has installed its own handler, which does not notify us of a preemption
    signal.signal(signal.SIGTERM, handler)
    return made
