"""The devices that TensorFlow finds here and matrix products on them, checked and timed: `python -m
ganboard.gan.verification.products` prints one JSON line, for `ganboard doctor --accelerator`."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import numpy as np

from ganboard.gan.devices import hardware, peak_flops

SIZE = 512  # of the matrices whose product is checked
PRECISIONS = {"float32": "float32", "mixed_bfloat16": "bfloat16", "mixed_float16": "float16"}
# Largest relative error (Frobenius norms) of a product whose elements are rounded to the format.
# In float32 an accelerator may round what it multiplies: to TensorFloat-32 (2**-11) or to bfloat16
# (2**-8) on a TPU.
BOUNDS = {"float32": 1e-2, "bfloat16": 1e-2, "float16": 2e-3}
_PROBLEM = 200  # characters of a reason


def main() -> None:
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print must not mix with the answer
    replies.write(json.dumps(describe()) + "\n")
    replies.flush()


def describe() -> dict[str, Any]:
    """Hardware, what TensorFlow was built for, its devices, and products on the first of them."""
    found: dict[str, Any] = {"hardware": hardware.describe()}
    import tensorflow as tf

    build = tf.sysconfig.get_build_info()
    found["build"] = {name: str(value) for name, value in build.items()}
    if found["hardware"]["tpus"]:
        found["tpu_problem"] = _connect()
    devices = [
        device for kind in ("TPU", "GPU", "CPU") for device in tf.config.list_logical_devices(kind)
    ]
    found["devices"] = [device.name for device in devices]
    found["products"] = [_product(precision, devices[0].name) for precision in PRECISIONS]
    return found


def _connect() -> str | None:
    """Connect to the TPU of this machine; the reason why it cannot be, or None."""
    from ganboard.gan.config import ConfigError
    from ganboard.gan.distributed import tpu

    try:
        tpu.connect()
    except ConfigError as error:
        return str(error)
    return None


def _product(precision: str, device: str) -> dict[str, Any]:
    """One product on `device`: its relative error and the speed of such products."""
    import tensorflow as tf

    dtype = PRECISIONS[precision]
    place = "/" + device.rpartition("device:")[2]
    try:
        with tf.device(place):
            a, b = (
                tf.cast(tf.random.stateless_normal([SIZE, SIZE], [seed, SIZE]), dtype)
                for seed in (1, 2)
            )
            product = tf.cast(tf.matmul(a, b), tf.float32).numpy().astype(np.float64)
        exact = _exact(a) @ _exact(b)
        error = float(np.linalg.norm(product - exact) / np.linalg.norm(exact))
        speed = peak_flops.gflops(precision, place)
    # a device that lacks a kernel of this format raises kinds of its own
    except Exception as problem:
        text = " ".join(str(problem).split())[:_PROBLEM]
        return {"precision": dtype, "device": place, "problem": text}
    return {
        "precision": dtype,
        "device": place,
        "error": error,
        "bound": BOUNDS[dtype],
        "gflops": speed,
    }


def _exact(matrix: Any) -> Any:
    import tensorflow as tf

    return tf.cast(matrix, tf.float32).numpy().astype(np.float64)


if __name__ == "__main__":
    main(*sys.argv[1:])
