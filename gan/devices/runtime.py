"""TensorFlow's process-wide switches, set before it initialises. Call `prepare` first in a training
process."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal

from ganboard.gan.config import RunConfig
from ganboard.gan.distributed import cluster

DeviceKind = Literal["gpu", "tpu"]
# the kind of device that a rehearsal compiles for
_absent: ContextVar[DeviceKind | None] = ContextVar("absent", default=None)


@contextmanager
def _quick_imports() -> Iterator[None]:
    """Imports in here take two thirds of TensorFlow's usual time: scikit-learn and pandas count as
    absent, which Keras loads for wrappers that nobody uses here, and no garbage is looked for among
    objects that stay."""
    if "tensorflow" in sys.modules:
        yield
        return
    absent = [name for name in ("sklearn", "pandas") if name not in sys.modules]
    for name in absent:
        sys.modules[name] = None  # type: ignore[assignment]
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if collects:
            gc.enable()
        for name in absent:
            del sys.modules[name]


def prepare(config: RunConfig) -> None:
    """Make operations deterministic, choose the GPUs, and with fewer GPUs than replicas cut the CPU
    into logical devices.

    Raises RuntimeError when TensorFlow already runs with other devices, and ConfigError as
    `gan.distributed.cluster.own` does.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    os.environ.setdefault("KERAS_BACKEND", "tensorflow")
    if config.xla:
        # Read when the first graph is compiled. On a CPU, XLA's convolutions run at 0.6 of oneDNN's
        # speed, so it gets only what it can fuse around them; a function compiled as a whole, as on
        # accelerators, is not affected.
        os.environ.setdefault(
            "TF_XLA_FLAGS",
            "--tf_xla_auto_jit=2 --tf_xla_cpu_global_jit --tf_xla_ops_to_cluster=FUSIBLE",
        )
    with _quick_imports():
        import keras  # noqa: F401 — TensorFlow imports it when it is first used
        import tensorflow as tf

    # Fusing forward operations finds nothing in a training step that needs their inputs again, and
    # fails loudly inside a loop
    tf.config.optimizer.set_experimental_options({"remapping": False})
    gpus = tf.config.list_physical_devices("GPU")
    here = config.replicas // config.hosts
    if here > max(1, len(gpus)):
        gpus = []  # all replicas on the CPU: they should be of one kind
    elif config.effective_strategy == "multi_worker" and gpus:
        gpus = [gpus[cluster.own(config.replicas).rank % here]]
    gpus = gpus[:here]
    tf.config.set_visible_devices(gpus, "GPU")
    # operations on a CPU are deterministic, and there the step reads the clock, which this switch
    # forbids
    if gpus:
        tf.config.experimental.enable_op_determinism()
    for gpu in gpus:
        tf.config.experimental.set_memory_growth(gpu, True)
    if config.effective_strategy == "multi_worker" and not gpus:
        # all cores' threads in each of two processes on two cores make a step 6 % longer where they
        # share an operation's work, and 6 % where they run operations beside each other
        own = max(1, cores() // config.processes)
        tf.config.threading.set_intra_op_parallelism_threads(own)
        tf.config.threading.set_inter_op_parallelism_threads(own)
    if config.effective_strategy == "mirrored" and config.replicas > 1 and not gpus:
        cpu = tf.config.list_physical_devices("CPU")[0]
        wanted = [tf.config.LogicalDeviceConfiguration()] * config.replicas
        if len(tf.config.get_logical_device_configuration(cpu) or ()) != config.replicas:
            tf.config.set_logical_device_configuration(cpu, wanted)


@contextmanager
def as_if_on(kind: DeviceKind) -> Iterator[None]:
    """Build networks and steps as on a device of this kind that is not here, to compile them for
    it; nothing of them can run."""
    token = _absent.set(kind)
    try:
        yield
    finally:
        _absent.reset(token)


def on_gpu() -> bool:
    """Whether this process computes on a GPU."""
    import tensorflow as tf

    absent = _absent.get()
    return absent == "gpu" if absent else bool(tf.config.get_visible_devices("GPU"))


def accelerated() -> bool:
    """Whether this process computes on a GPU or TPU."""
    import tensorflow as tf

    return bool(
        _absent.get()
        or on_gpu()
        or tf.config.list_physical_devices("TPU")
        or tf.config.list_logical_devices("TPU")
    )


def compiled(config: RunConfig) -> bool:
    """Whether XLA is asked to compile the gradient function as a whole: on GPUs. On a CPU it fuses
    element-wise operations only (see `prepare`), and a TPU compiles the whole step unasked."""
    return config.xla and on_gpu()


def cores() -> int:
    """CPU cores that this process may use; does not start TensorFlow."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
