"""The same networks, losses and updates in JAX: one jitted function per step, its state donated."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ganboard.gan.bench.protocol import Take, Task

NOISE = 100
AXES = ("NHWC", "HWIO", "NHWC")
LAYERS = {  # weights by name; kernels are (height, width, in, out), norms are scale and offset
    "g": {
        "dense": (NOISE, 7 * 7 * 256),
        "norm_0": (2, 7 * 7 * 256),
        "up_1": (5, 5, 256, 128),
        "norm_1": (2, 128),
        "up_2": (5, 5, 128, 64),
        "norm_2": (2, 64),
        "up_3": (5, 5, 64, 1),
    },
    "d": {
        "down_0": (5, 5, 1, 64),
        "bias_0": (64,),
        "down_1": (5, 5, 64, 128),
        "bias_1": (128,),
        "logits": (7 * 7 * 128, 1),
        "bias_2": (1,),
    },
}
Tree = dict[str, Any]


def generate(weights: Tree, moving: Tree, noise: Any, half: Any) -> tuple[Any, Tree]:
    """Images [batch, 28, 28, 1] float32 of noise, and new moving statistics; `half` is the type of
    the products."""
    kept = {}

    def normed(x: Any, name: str) -> Any:
        wide, over = x.astype(jnp.float32), tuple(range(x.ndim - 1))
        mean, variance = wide.mean(over), wide.var(over)
        kept[name] = 0.99 * moving[name] + 0.01 * jnp.stack([mean, variance])
        scale, offset = weights[name]
        return leaky(((wide - mean) * (lax.rsqrt(variance + 1e-3) * scale) + offset).astype(half))

    x = normed(noise.astype(half) @ weights["dense"].astype(half), "norm_0").reshape(-1, 7, 7, 256)
    for layer, strides in ((1, (1, 1)), (2, (2, 2)), (3, (2, 2))):
        x = lax.conv_transpose(
            x, weights[f"up_{layer}"].astype(half), strides, "SAME", dimension_numbers=AXES
        )
        if layer < 3:
            x = normed(x, f"norm_{layer}")
    return jnp.tanh(x.astype(jnp.float32)), kept


def discriminate(weights: Tree, x: Any, key: Any, half: Any, rate: float = 0.3) -> Any:
    """Logits [batch, 1] float32 of images, with dropout of that rate."""
    x = x.astype(half)
    for layer in range(2):
        x = lax.conv_general_dilated(
            x, weights[f"down_{layer}"].astype(half), (2, 2), "SAME", dimension_numbers=AXES
        )
        x = leaky(x + weights[f"bias_{layer}"].astype(half))
        key, own = jax.random.split(key)
        x = jnp.where(jax.random.bernoulli(own, 1 - rate, x.shape), x / half(1 - rate), 0)
    return x.reshape(len(x), -1).astype(jnp.float32) @ weights["logits"] + weights["bias_2"]


def leaky(x: Any) -> Any:
    return jnp.where(x >= 0, x, 0.3 * x)


def adam(state: Tree, gradients: Tree) -> Tree:
    """Kingma and Ba 2015, in the order of its section 2."""
    count = state["count"] + 1
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state["first"], gradients)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, state["second"], gradients)
    rate = 1e-4 * jnp.sqrt(1 - 0.999**count) / (1 - 0.9**count)
    weights = jax.tree.map(
        lambda w, m, v: w - rate * m / (jnp.sqrt(v) + 1e-7), state["weights"], first, second
    )
    return {"weights": weights, "first": first, "second": second, "count": count}


def initial() -> Tree:
    """The state before the first step."""
    state: Tree = {
        "moving": {
            name: jnp.zeros(shape).at[1].set(1)
            for name, shape in LAYERS["g"].items()
            if name.startswith("norm")
        }
    }
    glorot, key = jax.nn.initializers.glorot_uniform(), jax.random.key(0)
    for net, shapes in LAYERS.items():
        weights = {}
        for name, shape in shapes.items():
            key, own = jax.random.split(key)
            start = jnp.zeros(shape) if name.startswith("bias") else glorot(own, shape)
            weights[name] = jnp.zeros(shape).at[0].set(1) if name.startswith("norm") else start
        first, second = (jax.tree.map(jnp.zeros_like, weights) for _ in range(2))
        state[net] = {"weights": weights, "first": first, "second": second, "count": jnp.zeros(())}
    return state


def gradients(
    state: Tree, images: Any, noise: Any, keys: Any, half: Any, rate: float = 0.3
) -> tuple[Tree, Tree, Tree, Any]:
    """Gradients of G and D, new moving statistics, and both losses; one forward pass of each net
    serves both."""
    fake, back_to_g, moving = jax.vjp(
        lambda w: generate(w, state["moving"], noise, half), state["g"]["weights"], has_aux=True
    )
    fake_logits, back = jax.vjp(
        lambda w, x: discriminate(w, x, keys[0], half, rate), state["d"]["weights"], fake
    )
    real_logits, back_real = jax.vjp(
        lambda w: discriminate(w, images, keys[1], half, rate), state["d"]["weights"]
    )
    g_loss, pull = jax.value_and_grad(lambda x: jax.nn.softplus(-x).mean())(fake_logits)
    fake_loss, push = jax.value_and_grad(lambda x: jax.nn.softplus(x).mean())(fake_logits)
    real_loss, push_real = jax.value_and_grad(lambda x: jax.nn.softplus(-x).mean())(real_logits)
    (g_gradients,) = back_to_g(back(pull)[1])
    d_gradients = jax.tree.map(jnp.add, back(push)[0], *back_real(push_real))
    return g_gradients, d_gradients, moving, jnp.stack([g_loss, real_loss + fake_loss])


def make(task: Task) -> tuple[Take, str]:
    half = jnp.bfloat16 if task.precision == "mixed_bfloat16" else jnp.float32

    def step(state: Tree, images: Any, key: Any) -> tuple[Tree, Any]:
        key, *keys = jax.random.split(key, 3)
        noise = jax.random.normal(key, (task.batch, NOISE))
        g_gradients, d_gradients, moving, losses = gradients(
            state, images.astype(jnp.float32) / 127.5 - 1, noise, keys, half
        )
        return {
            "g": adam(state["g"], g_gradients),
            "d": adam(state["d"], d_gradients),
            "moving": moving,
        }, losses

    jitted, state = jax.jit(step, donate_argnums=0), initial()
    images, generator = np.load(task.images, allow_pickle=False), np.random.default_rng(0)
    order, at, key = generator.permutation(len(images)), 0, jax.random.key(1)

    def take(count: int) -> tuple[float, float]:
        nonlocal state, order, at, key
        for _ in range(count):
            if at + task.batch > len(images):
                order, at = generator.permutation(len(images)), 0
            key, own = jax.random.split(key)
            state, losses = jitted(state, images[order[at : at + task.batch]], own)
            at += task.batch
        g_loss, d_loss = np.asarray(losses)
        return float(g_loss), float(d_loss)

    return take, f"jax {jax.__version__}"
