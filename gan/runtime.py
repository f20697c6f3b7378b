"""TensorFlow's process-wide switches, set before it initialises. Call `prepare` first in a training process."""

from __future__ import annotations

import os

from gan.config import RunConfig


def prepare(config: RunConfig) -> None:
    """Make operations deterministic and, with fewer GPUs than replicas, cut the CPU into logical devices.

    Raises RuntimeError when TensorFlow already runs with other devices.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    import tensorflow as tf

    tf.config.experimental.enable_op_determinism()
    # Fusing forward operations finds nothing in a training step that needs their inputs again, and fails loudly inside a loop
    tf.config.optimizer.set_experimental_options({"remapping": False})
    gpus = tf.config.list_physical_devices("GPU")
    for gpu in gpus:
        tf.config.experimental.set_memory_growth(gpu, True)
    if config.replicas > max(1, len(gpus)):
        cpu = tf.config.list_physical_devices("CPU")[0]
        wanted = [tf.config.LogicalDeviceConfiguration()] * config.replicas
        if len(tf.config.get_logical_device_configuration(cpu) or ()) != config.replicas:
            tf.config.set_logical_device_configuration(cpu, wanted)
