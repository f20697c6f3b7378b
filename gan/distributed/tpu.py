"""A TPU as the strategy of a run, by plain tf.distribute. What was proven without one, and what was
not: docs/tpu.md."""

from __future__ import annotations

import os
import socket

import tensorflow as tf

from ganboard.gan.config import ConfigError, RunConfig

LOCAL = "local"  # the TPU of the machine this process runs on
# connecting to an unreachable address would wait for minutes without a message
_REACH_SECONDS = 10


def strategy(config: RunConfig) -> tf.distribute.TPUStrategy:
    """All cores of this machine's TPU, or of the one that the environment variable TPU_NAME names,
    one replica each.

    Initialises the TPU, which ends whatever this process had on it: call it once, before anything
    else runs. Raises ConfigError when there is no TPU, when it does not answer, and when
    `config.replicas` is not the number of its cores.
    """
    made = tf.distribute.TPUStrategy(connect())
    cores = made.num_replicas_in_sync
    if cores != config.replicas:
        raise ConfigError(
            f"replicas={config.replicas} does not match this TPU, since strategy=tpu uses all"
            f" {cores} cores. Set replicas={cores} and batch_size to a multiple of {cores}."
        )
    return made


def connect() -> tf.distribute.cluster_resolver.TPUClusterResolver:
    """Connect to the TPU and initialise it. Raises ConfigError when there is none, or when it does
    not answer."""
    name = os.environ.get("TPU_NAME") or LOCAL
    try:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu=name)
        _reach(resolver)
        tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
    # TensorFlow, its cloud clients and the network each raise kinds of their own
    except Exception as error:
        where = "on this machine" if name == LOCAL else f"under the name TPU_NAME={name}"
        reason = (str(error).strip() or type(error).__name__).splitlines()[0][:200].rstrip(".:; ")
        raise ConfigError(
            f"strategy=tpu found no usable TPU {where} ({reason}). Use a TPU VM with the extra tpu"
            " installed and no other process on the TPU, or use strategy=mirrored."
        ) from error
    return resolver


def _reach(resolver: tf.distribute.cluster_resolver.TPUClusterResolver) -> None:
    """Raise OSError when a machine of a TPU elsewhere does not take connections; a local one has no
    addresses."""
    for job in resolver.cluster_spec().as_dict().values():
        for address in job:
            host, _, port = address.rpartition(":")
            try:
                socket.create_connection((host, int(port)), _REACH_SECONDS).close()
            except OSError as error:
                raise OSError(f"{address} does not answer: {error.strerror or error}") from error
