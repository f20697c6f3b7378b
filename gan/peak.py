"""The fastest that this machine multiplies, measured: what a share of its peak is a share of."""

from __future__ import annotations

import time
from functools import cache

_LARGEST = 8192  # three matrices of float32 take 0.8 GB
_ENOUGH_SECONDS = 0.02  # a product that takes so long hides what its call costs
_BUDGET_SECONDS = 0.4


@cache
def gflops(precision: str) -> float:
    """GFLOP/s of one device in products of two square matrices in the number format of `precision` (a value of RunConfig.precision).

    The matrices grow from 512 until one product takes 20 ms, or to 8192; of the tries that fit into 0.4 s the fastest counts, 2 n^3 FLOP
    each (as LINPACK's Rmax: reached, not read off a data sheet). It runs where training does: on the first GPU, in TensorFloat-32 where
    TensorFlow uses that for float32, else on all cores that TensorFlow uses. Replicas on more GPUs have as many times this peak; logical
    CPU devices share it.
    """
    import tensorflow as tf

    dtype = {"float32": tf.float32, "mixed_bfloat16": tf.bfloat16, "mixed_float16": tf.float16}[precision]
    began = time.perf_counter()
    best, size, tries = 0.0, 512, 0
    with tf.device("/GPU:0" if tf.config.list_logical_devices("GPU") else "/CPU:0"):  # a hidden GPU is not used
        a = _matrix(size, dtype)
        while tries < 3 or time.perf_counter() - began < _BUDGET_SECONDS:
            start = time.perf_counter()
            tf.matmul(a, a)[0, 0].numpy()  # waits until it is computed
            seconds = time.perf_counter() - start
            best, tries = max(best, 2e-9 * size**3 / seconds), tries + 1
            if tries >= 2 and seconds < _ENOUGH_SECONDS and size < _LARGEST:  # the first call of a size also loads its kernel
                size, tries = 2 * size, 0
                a = _matrix(size, dtype)
    return best


def _matrix(size: int, dtype: object) -> object:
    import tensorflow as tf

    return tf.cast(tf.random.stateless_normal([size, size], [0, size]), dtype)  # zeros would draw less power, and clock higher
