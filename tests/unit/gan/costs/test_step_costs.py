"""The products of a step beside those in its graph, and the bytes of an all-reduce."""

from __future__ import annotations

import math
from typing import Any

import pytest

from ganboard.gan.config import RunConfig
from ganboard.gan.costs import estimate
from ganboard.gan.costs.layer import macs
from tests.unit.gan.costs.configs import config


def counted(run: RunConfig) -> float:
    """FLOP of one step written plainly in TensorFlow with the layers of `run`, counted in its
    traced graph."""
    import tensorflow as tf

    batch = run.batch_size
    kernels = {
        "dense": (run.latent_dim, 12544),
        "up_1": (5, 5, 128, 256),
        "up_4": (5, 5, 128, 128),
        "up_2": (5, 5, 64, 128),
        "up_3": (5, 5, 1, 64),
        "down_0": (5, 5, 1, 64),
        "down_1": (5, 5, 64, 128),
        "logits": (6272, 1),
    }

    def leaky(x: tf.Tensor) -> tf.Tensor:
        # TensorFlow's own sends zeros back through it in a second derivative
        return x * tf.stop_gradient(tf.where(x > 0, 1.0, 0.3))

    def generate(weights: dict[str, tf.Tensor], noise: tf.Tensor) -> tf.Tensor:
        x = tf.reshape(noise @ weights["dense"], [batch, 7, 7, 256])
        for layer in estimate.generator(run)[1:]:
            filters = kernels[layer.name][2]
            side = math.isqrt(layer.leaving // filters)
            x = leaky(x)
            x = tf.nn.conv2d_transpose(
                x, weights[layer.name], [batch, side, side, filters], side // x.shape[1]
            )
        return tf.tanh(x)

    def discriminate(weights: dict[str, tf.Tensor], x: tf.Tensor) -> tf.Tensor:
        for name in ("down_0", "down_1"):
            x = leaky(tf.nn.conv2d(x, weights[name], 2, "SAME"))
        return tf.reshape(x, [batch, -1]) @ weights["logits"]

    def norm(gradient: tf.Tensor) -> tf.Tensor:
        return tf.sqrt(tf.reduce_sum(tf.square(gradient), [1, 2, 3]) + 1e-12)

    @tf.function
    def step(
        g_weights: dict[str, tf.Tensor],
        d_weights: dict[str, tf.Tensor],
        noise: tf.Tensor,
        real: tf.Tensor,
    ) -> list[Any]:
        found = []
        for k in reversed(range(run.d_steps)):
            with tf.GradientTape() as g_tape, tf.GradientTape() as d_tape:
                g_tape.watch(g_weights)
                d_tape.watch(d_weights)
                fake = generate(g_weights, noise + k)
                seen = fake if k == 0 else tf.stop_gradient(fake)
                with tf.GradientTape() as r1_tape:
                    r1_tape.watch(real)
                    real_logits = discriminate(d_weights, real)
                fake_logits = discriminate(d_weights, seen)
                g_loss = tf.reduce_mean(tf.nn.softplus(-fake_logits))
                d_loss = tf.reduce_mean(tf.nn.softplus(-real_logits) + tf.nn.softplus(fake_logits))
                if run.r1:
                    d_loss += tf.reduce_mean(norm(r1_tape.gradient(real_logits, real)) ** 2)
                if run.loss == "wgan_gp":
                    between = tf.stop_gradient((real + fake) / 2)
                    with tf.GradientTape() as gp_tape:
                        gp_tape.watch(between)
                        logits = discriminate(d_weights, between)
                    d_loss += tf.reduce_mean((norm(gp_tape.gradient(logits, between)) - 1) ** 2)
            found.append(d_tape.gradient(d_loss, list(d_weights.values())))
            if k == 0:
                found.append(g_tape.gradient(g_loss, list(g_weights.values())))
        return found

    weights = [
        {layer.name: tf.ones(kernels[layer.name]) for layer in net}
        for net in (estimate.generator(run), estimate.discriminator(run))
    ]
    graph = step.get_concrete_function(
        *weights, tf.ones([batch, run.latent_dim]), tf.ones([batch, 28, 28, 1])
    ).graph
    # the tape also writes down gradients that nobody asked for
    wanted, waiting = set(), [tensor.op for tensor in graph.outputs]
    while waiting:
        op = waiting.pop()
        if op not in wanted:
            wanted.add(op)
            waiting += [tensor.op for tensor in op.inputs]
    return 2.0 * sum(counted_macs(op) for op in wanted)


def counted_macs(op: Any) -> int:
    """Multiply-accumulates of one operation: every value of a convolution's outer map meets one
    kernel's window."""
    if op.type == "MatMul":
        inner = op.inputs[0].shape[0 if op.get_attr("transpose_a") else 1]
        return int(inner * math.prod(op.outputs[0].shape))
    outer, kernel = {
        "Conv2D": lambda: (op.outputs[0], op.inputs[1]),
        "Conv2DBackpropInput": lambda: (op.inputs[2], op.inputs[1]),
        "Conv2DBackpropFilter": lambda: (op.inputs[2], op.outputs[0]),
    }.get(op.type, lambda: (None, None))()
    return int(math.prod(outer.shape) * math.prod(kernel.shape[:3])) if outer is not None else 0


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"table1_literal": True},
        {"d_steps": 3},
        {"r1": 10.0},
        {"loss": "wgan_gp"},
        {"loss": "wgan_gp", "r1": 1.0, "d_steps": 2},
    ],
)
def test_a_step_costs_what_is_counted_in_its_graph(changes: dict[str, Any]) -> None:
    run = config(batch_size=2, **changes)
    assert estimate.step_flop(run) == pytest.approx(counted(run), rel=1e-9)


def test_a_step_costs_what_the_study_was_reckoned_to_cost() -> None:
    assert estimate.step_flop(config()) == pytest.approx(64 * 0.452e9, rel=1e-3)
    assert estimate.step_flop(config(accumulate=8, replicas=2)) == estimate.step_flop(config())
    forward = (
        2.0 * 64 * (macs(estimate.generator(config())) + 2 * macs(estimate.discriminator(config())))
    )
    assert estimate.step_flop(config(recompute=True)) == estimate.step_flop(config()) + forward


@pytest.mark.parametrize(("replicas", "sent"), [(1, 0), (2, 10_073_348), (8, 17_628_359)])
def test_an_all_reduce_sends_nearly_twice_the_gradients(replicas: int, sent: int) -> None:
    assert estimate.reduce_bytes(config(replicas=replicas)) == sent


def test_further_steps_of_d_send_its_gradients_again() -> None:
    assert (
        estimate.reduce_bytes(config(replicas=2, d_steps=3))
        - estimate.reduce_bytes(config(replicas=2))
        == 2 * 4 * 212_865
    )
