"""How exactly JAX sums the gradient of a bias in bfloat16.

python docs/decisions/after_tensorflow_tpu/bias_gradient.py
"""

from __future__ import annotations

import os

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np

SHAPE = (64, 14, 14, 64)  # behind D's first convolution, batch 64


def gradient(upstream: jax.Array) -> jax.Array:
    def biased(bias: jax.Array) -> jax.Array:
        return jnp.zeros_like(upstream) + bias.astype(upstream.dtype)

    _, back = jax.vjp(biased, jnp.zeros(SHAPE[-1]))
    return back(upstream)[0]  # type: ignore[no-any-return]


def summed_in_float32(upstream: jax.Array) -> jax.Array:
    return upstream.astype(jnp.float32).sum((0, 1, 2))


def main() -> None:
    values = np.random.default_rng(0).normal(0.1, 1, SHAPE)
    upstream = jnp.asarray(values, jnp.bfloat16)
    wanted = np.asarray(upstream).astype(np.float64).sum((0, 1, 2))
    for function in (gradient, summed_in_float32):
        found = np.asarray(jax.jit(function)(upstream))
        apart = np.max(np.abs(found - wanted)) / np.max(np.abs(wanted))
        print(f"{function.__name__}: relative error {apart:.1e}")


if __name__ == "__main__":
    main()
