"""The fastest that this machine multiplies, measured: what a share of its peak is a share of."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from filelock import FileLock

from ganboard.gan.devices.hardware import devices

_LARGEST = 8192  # three matrices of float32 take 0.8 GB
_ENOUGH_SECONDS = 0.02  # a product that takes so long hides what its call costs
_BUDGET_SECONDS = 0.4
_SMALL, _TRIES = 1024, 6  # of `per_cpu_second`: 0.01 s each, 0.1 where bfloat16 is emulated


def best(precision: str, machine: Mapping[str, Any], folder: Path) -> float:
    """The highest `gflops` that any trainer reached on this `machine`
    (`gan.devices.hardware.describe`).

    What else runs there slows a single measurement down, so the best one is kept in `folder`, for
    each host, kind of device and precision. Where it cannot be written this measurement counts
    alone: a full disk must not end a training for the sake of a percentage.
    """
    reached = gflops(precision)
    try:
        return _kept(reached, precision, machine, folder)
    except OSError:
        return reached


def _kept(reached: float, precision: str, machine: Mapping[str, Any], folder: Path) -> float:
    """The larger of `reached` and what is kept, which it replaces. Raises OSError."""
    place = f"{machine['host']}, {devices(machine)}, {'GPU' if _on_gpu() else 'CPU'}"
    digest = hashlib.sha256(place.encode()).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"peak-{precision}-{digest}.txt"
    # of two trainers that measure at once the better counts
    with FileLock(path.with_suffix(".lock")):
        path.touch()
        known = _number(path.read_text(errors="replace"))
        if reached > known:
            path.write_text(f"{reached!r}\n")
    return max(reached, known)


def _number(written: str) -> float:
    """What was kept; 0 where a power cut left something else."""
    try:
        found = float(written)
    except ValueError:
        return 0.0
    return found if 0 < found < float("inf") else 0.0


def _on_gpu() -> bool:
    """Whether products run on a GPU; one that is hidden from TensorFlow is not used."""
    import tensorflow as tf

    return bool(tf.config.list_logical_devices("GPU"))


@cache
def gflops(precision: str, device: str | None = None) -> float:
    """GFLOP/s of one device in products of two square matrices in the number format of `precision`
    (a value of RunConfig.precision).

    The matrices grow from 512 until one product takes 20 ms, or to 8192; of the tries that fit into
    0.4 s the fastest counts, 2 n^3 FLOP each (as LINPACK's Rmax: reached, not read off a data
    sheet). It runs where training does: on the first GPU, in TensorFloat-32 where TensorFlow uses
    that for float32, else on all cores that TensorFlow uses; or on `device`, such as /TPU:0.
    Replicas on more GPUs have as many times this peak; logical CPU devices share it.
    """
    import tensorflow as tf

    dtype = _dtype(precision)
    began = time.perf_counter()
    best, size, tries = 0.0, 512, 0
    with tf.device(device or ("/GPU:0" if _on_gpu() else "/CPU:0")):
        a = _matrix(size, dtype)
        while tries < 3 or time.perf_counter() - began < _BUDGET_SECONDS:
            start = time.perf_counter()
            tf.matmul(a, a)[0, 0].numpy()  # waits until it is computed
            seconds = time.perf_counter() - start
            best, tries = max(best, 2e-9 * size**3 / seconds), tries + 1
            # the first call of a size also loads its kernel
            if tries >= 2 and seconds < _ENOUGH_SECONDS and size < _LARGEST:
                size, tries = 2 * size, 0
                a = _matrix(size, dtype)
    return best


def per_cpu_second(precision: str) -> float:
    """GFLOP for each second of CPU time in products of two square matrices of 1,024 rows on the
    CPU, the best of 6 tries.

    Unlike `gflops` it may be measured while others work on the same cores: it says which precision
    is faster, not how fast the machine is.
    """
    import tensorflow as tf

    best = 0.0
    with tf.device("/CPU:0"):
        a = _matrix(_SMALL, _dtype(precision))
        for _ in range(_TRIES):
            began = time.process_time()
            tf.matmul(a, a)[0, 0].numpy()
            best = max(best, 2e-9 * _SMALL**3 / (time.process_time() - began))
    return best


def _dtype(precision: str) -> object:
    import tensorflow as tf

    return {"float32": tf.float32, "mixed_bfloat16": tf.bfloat16, "mixed_float16": tf.float16}[
        precision
    ]


def _matrix(size: int, dtype: object) -> object:
    import tensorflow as tf

    # zeros would draw less power, and clock higher
    return tf.cast(tf.random.stateless_normal([size, size], [0, size]), dtype)
