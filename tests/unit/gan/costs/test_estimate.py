from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ganboard.gan.config import RunConfig
from ganboard.gan.costs import estimate
from ganboard.gan.costs.layer import LayerCost, layer_costs, macs, parameters

CPU: dict[str, Any] = {"gpus": [], "tpus": [], "memory_bytes": 4 * 10**9}
GPUS: dict[str, Any] = {
    "gpus": [{"name": "a", "memory_bytes": 8 * 10**9}] * 2,
    "tpus": [],
    "memory_bytes": 4 * 10**9,
}


def config(**changes: Any) -> RunConfig:
    return RunConfig(**{"batch_size": 64, **changes})


# --- layers ---


def assert_described(net: Any, layers: Sequence[LayerCost]) -> None:
    """`layers` are those of `net` that have weights to multiply with, in order, with what enters,
    leaves and is trained."""
    products = [
        layer for layer in net.layers if hasattr(layer, "kernel") or layer.name == "judgements"
    ]
    assert [layer.name for layer in layers] == [layer.name for layer in products]
    assert [layer.entering for layer in layers] == [
        math.prod(layer.input.shape[1:]) for layer in products
    ]
    assert [layer.leaving for layer in layers] == [
        math.prod(layer.output.shape[1:]) for layer in products
    ]
    assert parameters(layers) == sum(math.prod(weight.shape) for weight in net.trainable_variables)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"table1_literal": True},
        {"generator_batch_norm": False},
        {"discriminator_batch_norm": True},
        {"latent_dim": 7, "table1_literal": True, "generator_batch_norm": False},
    ],
)
def test_shapes_and_parameters_are_those_of_the_networks(changes: dict[str, Any]) -> None:
    from ganboard.gan.models.dcgan import networks as dcgan

    run = config(**changes)
    for net, layers in (
        (dcgan.generator(run), estimate.generator(run)),
        (dcgan.discriminator(run), estimate.discriminator(run)),
    ):
        assert_described(net, layers)


@pytest.mark.parametrize(
    ("geometry", "g", "d", "step"),
    [("51x51x25", 6.123, 3.791, 80.0), ("25x25x25", 0.511, 1.570, 19.0)],
)
def test_3dgan_costs_what_was_counted(geometry: str, g: float, d: float, step: float) -> None:
    """Products in GFLOP as counted from the published layers, parameters and maps as the networks
    have them."""
    from ganboard.gan.models.gan3d import networks

    run = config(model="gan3d", dataset="showers", geometry=geometry)
    assert 2e-9 * macs(estimate.generator(run)) == pytest.approx(g, abs=5e-4)
    assert 2e-9 * macs(estimate.discriminator(run)) == pytest.approx(d, abs=5e-4)
    assert 1e-9 * estimate.step_flop(run) / run.batch_size == pytest.approx(step, rel=0.03)
    for net, layers in (
        (networks.generator(run, geometry), estimate.generator(run)),
        (networks.discriminator(run, geometry), estimate.discriminator(run)),
    ):
        assert_described(net, layers)


@pytest.mark.parametrize(
    ("side", "g", "d", "step"),
    [(256, 12.096, 6.394, 80.5), (128, 3.012, 1.534, 19.6), (64, 0.740, 0.353, 4.66)],
)
def test_pix2pix_costs_what_was_counted(side: int, g: float, d: float, step: float) -> None:
    """With three channels as published in GFLOP; parameters and maps with the obstacle's channel as
    the networks have them."""
    from ganboard.gan.models.pix2pix import architecture, networks

    u_net = layer_costs((side, side, 3), architecture.generator(side, 3))
    patch_gan = layer_costs((side, side, 6), architecture.discriminator())
    assert 2e-9 * macs(u_net) == pytest.approx(g, abs=5e-4)
    assert 2e-9 * macs(patch_gan) == pytest.approx(d, abs=5e-4)
    run = config(model="pix2pix", dataset="flow", images_path="street", geometry=f"{side}x{side}")
    assert 1e-9 * estimate.step_flop(run) / run.batch_size == pytest.approx(step, rel=0.02)
    for net, layers in (
        (networks.generator(run, side, 4, 3), estimate.generator(run)),
        (networks.discriminator(run, side, 4, 3), estimate.discriminator(run)),
    ):
        assert_described(net, layers)


def test_forward_passes_cost_what_the_tutorials_networks_cost() -> None:
    assert 2e-9 * macs(estimate.generator(config())) == pytest.approx(0.1035, abs=5e-5)
    assert 2e-9 * macs(estimate.generator(config(table1_literal=True))) == pytest.approx(
        0.1436, abs=5e-5
    )
    assert 2e-9 * macs(estimate.discriminator(config())) == pytest.approx(0.0207, abs=5e-5)


# --- products of a step ---


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


# --- memory ---

MEASURED = [  # highest resident memory of trainings on CPU, in MB
    ({"batch_size": 32}, 970),
    ({"batch_size": 512}, 1373),
    ({"batch_size": 2048}, 2570),
    ({"batch_size": 32, "precision": "mixed_bfloat16"}, 978),
    ({"batch_size": 512, "precision": "mixed_bfloat16"}, 1286),
    ({"batch_size": 2048, "precision": "mixed_bfloat16"}, 2273),
    ({"batch_size": 1024, "xla": True}, 2205),
    ({"batch_size": 1024, "recompute": True}, 1504),
    ({"batch_size": 1024, "loss": "wgan_gp"}, 2125),
    ({"batch_size": 1024, "r1": 10}, 2070),
    ({"batch_size": 1024, "convolution": "direct"}, 1722),
    ({"batch_size": 1024, "table1_literal": True}, 1808),
    ({"batch_size": 1024, "replicas": 4}, 1884),
    ({"batch_size": 2048, "accumulate": 8}, 1252),
    ({"batch_size": 64, "quality_every": 1, "quality_images": 20_000}, 1444),
]


@pytest.mark.parametrize(("changes", "megabytes"), MEASURED)
def test_the_estimate_is_near_what_was_measured(changes: dict[str, Any], megabytes: int) -> None:
    assert estimate.estimate(config(limit=8192, **changes)) == pytest.approx(
        megabytes * 1e6, rel=0.15
    )


TRAIN = """
import pathlib, sys, tempfile
from ganboard.gan.training import loop
from ganboard.gan.config import parse_assignments, parse

with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder)
    loop.train(parse(parse_assignments(sys.argv[1:])), run_dir=path, data_dir=path, attempt=1,
               sink=lambda event: None, control=lambda: "stop")
print([line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")][0])
"""


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="the kernel does not report the highest memory"
)
@pytest.mark.parametrize("batch", [pytest.param(32, marks=pytest.mark.thorough), 1024])
def test_the_estimate_is_near_what_a_training_takes_here(batch: int) -> None:
    settings = ["dataset=digits", f"batch_size={batch}"]
    done = subprocess.run(
        [sys.executable, "-c", TRAIN, *settings],
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
        cwd=Path(__file__).parents[4],
        env={**os.environ, "CUDA_VISIBLE_DEVICES": "-1"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert estimate.estimate(config(dataset="digits", batch_size=batch)) == pytest.approx(
        1024 * int(done.stdout), rel=0.25
    )


def test_memory_follows_what_costs_it() -> None:
    def of(**changes: Any) -> int:
        return estimate.estimate(config(batch_size=1024, **changes))

    plain = of()
    assert of(accumulate=16) < of(recompute=True) < plain < of(r1=1.0) < of(loss="wgan_gp")
    assert of(precision="mixed_bfloat16") < plain < of(xla=True)
    assert of(optimizer="sgd", beta_1=0) < of(optimizer="sgd") < plain < of(ema=0.9)
    assert (
        of(limit=1024)
        < of(limit=30_000)
        < plain
        < estimate.estimate(config(batch_size=1024, dataset="images", images_path="a"), 10**6)
    )
    # the evaluator reads all images, and the batch takes more than the evaluation
    assert of(limit=1024, quality_every=1) == plain
    assert plain < of(replicas=4) < 2 * plain
    assert (
        of(strategy="multi_worker", replicas=4)
        < plain
        < 4 * of(strategy="multi_worker", replicas=4)
    )


def test_on_gpus_each_holds_one_replica_and_nothing_of_the_host() -> None:
    one, four = (
        estimate.estimate(config(batch_size=256 * n, replicas=n), on_gpu=True) for n in (1, 4)
    )
    assert one == four < estimate.estimate(config(batch_size=256))
    weights = parameters(estimate.generator(config())) + parameters(
        estimate.discriminator(config())
    )
    assert one == 4 * 4 * weights + 256 * estimate.image_bytes(config(), on_gpu=True)
    # no spectral form there
    assert estimate.image_bytes(config(), on_gpu=True) < estimate.image_bytes(config())


@pytest.mark.parametrize(
    "changes",
    [{}, {"precision": "mixed_bfloat16"}, {"replicas": 2, "accumulate": 3, "batch_size": 60}],
)
@pytest.mark.parametrize("gpu", [False, True])
def test_the_largest_batch_fits_and_the_next_does_not(changes: dict[str, Any], gpu: bool) -> None:
    run, memory = config(**changes), 6 * 10**9
    largest, parts = estimate.largest_batch(run, memory, on_gpu=gpu), run.replicas * run.accumulate
    assert largest % parts == 0
    fits, fails = (
        run.model_copy(update={"batch_size": size}) for size in (largest, largest + parts)
    )
    assert estimate.estimate(fits, on_gpu=gpu) <= memory < estimate.estimate(fails, on_gpu=gpu)


def test_no_batch_fits_into_less_than_the_process_takes() -> None:
    assert estimate.largest_batch(config(), 10**8) == 0
    assert estimate.largest_batch(config(), 2**60) == 65_536
    assert estimate.largest_batch(config(limit=1920), 2**60, 60_000) == 1920
    # a multiple of 6
    assert (
        estimate.largest_batch(config(batch_size=60, replicas=2, accumulate=3), 2**60, 1000) == 996
    )
    assert estimate.largest_batch(config(limit=64), 2**60, 50) == 50


@pytest.mark.parametrize(
    ("changes", "machine", "words"),
    [
        ({"batch_size": 8192}, CPU, ("batch_size=8192", "this machine has 4.0 GB")),
        ({"batch_size": 65_536}, GPUS, ("batch_size=65536", "the GPU has 6.9 GB")),
        ({"batch_size": 65_536, "replicas": 2}, GPUS, ("batch_size=65536", "each GPU has 6.9 GB")),
        # more replicas than GPUs: on CPU
        (
            {"batch_size": 65_536, "replicas": 4},
            GPUS,
            ("batch_size=65536", "this machine has 4.0 GB"),
        ),
        (
            {"batch_size": 8192, "replicas": 2, "strategy": "multi_worker"},
            CPU,
            ("batch_size=8192", "each of its 2 processes has 2.0 GB"),
        ),
    ],
)
def test_a_batch_that_cannot_fit_is_refused_with_one_that_would(
    changes: dict[str, Any], machine: dict[str, Any], words: tuple[str, ...]
) -> None:
    run = config(**changes)
    sentence = estimate.too_large(run, machine)
    assert sentence is not None
    assert all(word in sentence for word in words), sentence
    advised = {
        name: int(value)
        for name, value in re.findall(r"(batch_size|accumulate) to (\d+)", sentence)
    }
    assert set(advised) == {"batch_size", "accumulate"}, sentence
    for name, value in advised.items():
        assert estimate.too_large(RunConfig(**{**changes, name: value}), machine) is None
    assert (
        estimate.too_large(
            RunConfig(**{**changes, "batch_size": advised["batch_size"] + run.replicas}), machine
        )
        is not None
    )


def test_where_no_batch_fits_another_remedy_is_named() -> None:
    tiny = {**CPU, "memory_bytes": 10**8}
    assert str(estimate.too_large(config(), tiny)).endswith("use a machine with more memory.")
    assert str(estimate.too_large(config(replicas=2), tiny)).endswith("lower replicas.")


@pytest.mark.parametrize(
    "machine",
    [
        {"gpus": [{}] * 1024, "tpus": []},  # stands for any machine
        {"gpus": [None] * 1024, "tpus": []},
        {"gpus": [{"name": "a", "memory_bytes": None}], "tpus": []},  # NVML is missing
        {"gpus": [], "tpus": []},
    ],
)
def test_nothing_is_refused_where_the_memory_is_not_known(machine: dict[str, Any]) -> None:
    assert estimate.too_large(config(batch_size=65_536), machine) is None


def test_the_memory_of_a_tpu_is_not_known() -> None:
    assert estimate.available(config(strategy="tpu"), CPU) == 2**60
    assert estimate.available(config(), CPU) == 4 * 10**9
