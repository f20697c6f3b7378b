"""The tf.distribute strategy of a run. Make it before any other operation runs: with several processes TensorFlow asks for that."""

from __future__ import annotations

import tensorflow as tf

from gan import cluster
from gan.config import RunConfig


def strategy(config: RunConfig) -> tf.distribute.Strategy:
    """The strategy with `config.replicas` replicas; call `gan.runtime.prepare` first.

    Raises ConfigError when strategy=multi_worker was not started as several processes, and TrainingFailed when one of them does not join.
    """
    match config.effective_strategy:
        case "default":
            return tf.distribute.get_strategy()
        case "mirrored":
            return _mirrored(config)
        case "multi_worker":
            return _multi_worker(config)
        case _:
            return _tpu(config)


def _mirrored(config: RunConfig) -> tf.distribute.Strategy:
    """On `replicas` GPUs, or with too few of them on as many logical CPU devices.

    Replicas on logical CPU devices share the same cores: they show that the result is right, not how fast several devices are.
    """
    names = [device.name for device in tf.config.list_logical_devices("GPU")]
    if len(names) < config.replicas:
        names = [device.name for device in tf.config.list_logical_devices("CPU")]
    assert len(names) >= config.replicas, f"{len(names)} devices for {config.replicas} replicas: call gan.runtime.prepare first"
    return tf.distribute.MirroredStrategy([name.removeprefix("/device:") for name in names[: config.replicas]])


def _multi_worker(config: RunConfig) -> tf.distribute.Strategy:
    """One replica in each process: on its GPU if it has one, else on the CPU."""
    cluster.own(config.replicas).meet()
    kinds = tf.distribute.experimental.CommunicationImplementation
    options = tf.distribute.experimental.CommunicationOptions(
        implementation=kinds.NCCL if tf.config.get_visible_devices("GPU") else kinds.RING
    )
    return tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)


def _tpu(config: RunConfig) -> tf.distribute.Strategy:
    """On `replicas` cores of the TPU of this machine."""
    resolver = tf.distribute.cluster_resolver.TPUClusterResolver("local")
    tf.config.experimental_connect_to_cluster(resolver)
    topology = tf.tpu.experimental.initialize_tpu_system(resolver)
    cores = tf.tpu.experimental.DeviceAssignment.build(topology, num_replicas=config.replicas)
    return tf.distribute.TPUStrategy(resolver, experimental_device_assignment=cores)
