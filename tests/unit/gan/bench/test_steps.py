"""The candidates' steps: ours are those of a run, the tutorial learns, the floor computes what it
claims and no more."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from ganboard.gan.bench import floor, ours, plain, tutorial
from ganboard.gan.bench.protocol import Task
from ganboard.gan.config import parse
from ganboard.gan.costs import estimate
from ganboard.gan.costs.layer import macs
from ganboard.gan.data import digits
from ganboard.gan.models.dcgan.config import Config
from ganboard.gan.models.gan3d import architecture, networks
from ganboard.gan.models.gan3d.bench import tutorial as showers
from ganboard.gan.models.pix2pix.bench import tutorial as street
from ganboard.gan.presets import load

GOLDEN = Path(__file__).parents[3] / "golden" / "tiny.json"
BATCH = 4


def test_our_steps_are_those_of_a_run(tmp_path: Path) -> None:
    config = load("tiny")
    take, version = ours.make(
        Task(
            config.batch_size,
            config.precision,
            "",
            settings=config.model_dump(),
            data_dir=str(tmp_path),
        )
    )
    # two epochs of four steps: G's and D's losses
    steps = np.array([take(1) for _ in range(8)]).reshape(2, 4, 2)
    wanted = json.loads(GOLDEN.read_text())
    for net, name in enumerate(("g_loss", "d_loss")):
        assert steps[:, :, net].mean(1) == pytest.approx(
            [float.fromhex(x) for x in wanted[name]], rel=1e-4
        )
    assert "tensorflow" in version


@pytest.mark.thorough
def test_the_tutorial_learns_from_the_images(tmp_path: Path) -> None:
    np.save(tmp_path / "images.npy", digits.load(64).images)
    take, _ = tutorial.make(Task(32, "float32", str(tmp_path / "images.npy")))
    first, later = take(1), take(5)  # beyond the end of the data: it begins anew
    assert first[1] == pytest.approx(2 * math.log(2), abs=0.3)  # D knows nothing yet
    assert later[1] < first[1]


def test_the_tutorials_networks_have_the_studys_size() -> None:
    assert (tutorial.generator().count_params(), tutorial.discriminator().count_params()) == (
        2_330_944,
        212_865,
    )
    assert sum(math.prod(shape) for shape in floor.SHAPES) == 2_305_472 - 2 * (
        12_544 + 128 + 64
    ) + 212_865 - (64 + 128 + 1)


def specs(*shapes: tuple[int, ...]) -> list[tf.TensorSpec]:
    return [tf.TensorSpec(shape, tf.float32) for shape in shapes]


def test_the_floor_counts_the_products_that_it_takes() -> None:
    """TensorFlow's own count of the operations that are left when nothing unused is."""
    inputs = (
        *specs((BATCH, floor.NOISE), (BATCH, 28, 28, 1)),
        specs(*floor.SHAPES),
        specs((BATCH, 1), (BATCH, 1)),
    )
    graph = tf.function(floor.products).get_concrete_function(*inputs)
    outputs = [tensor.op.name for tensor in graph.outputs]
    needed = tf.compat.v1.graph_util.extract_sub_graph(
        graph.graph.as_graph_def(add_shapes=True), outputs
    )
    with tf.Graph().as_default() as pruned:
        tf.import_graph_def(needed, name="")
    options = tf.compat.v1.profiler.ProfileOptionBuilder(
        tf.compat.v1.profiler.ProfileOptionBuilder.float_operation()
    )
    counted = tf.compat.v1.profiler.profile(
        pruned, options=options.with_empty_output().build()
    ).total_float_ops
    # a backward pass takes its forward pass twice, but nothing asks for the gradient of the noise
    # and of real images
    g, d = estimate.generator(Config()), estimate.discriminator(Config())
    products = BATCH * (3 * macs(g) - g[0].macs + 6 * macs(d) - d[0].macs)
    summed = 212_865 - (64 + 128 + 1)  # both gradients of D's weights are added up
    assert counted == 2 * products + summed


def test_the_floor_takes_both_backward_passes() -> None:
    """Were the pulls on both logits equal, TensorFlow would find the two passes equal and take
    one."""
    make = tf.random.Generator.from_seed(0).normal
    inputs = (
        make([BATCH, floor.NOISE]),
        make([BATCH, 28, 28, 1]),
        [0.05 * make(shape) for shape in floor.SHAPES],
    )
    pulls = [make([BATCH, 1]) for _ in range(2)]
    both = floor.products(*inputs, pulls)
    apart = [
        floor.products(*inputs, [pulls[0], 0 * pulls[1]]),
        floor.products(*inputs, [0 * pulls[0], pulls[1]]),
    ]
    gradients = len(floor.SHAPES)
    for found, real, fake, shape in zip(
        both[:gradients], *(each[:gradients] for each in apart), floor.SHAPES, strict=True
    ):
        assert found.shape == shape
        np.testing.assert_allclose(
            found, real + fake, rtol=1e-3, atol=1e-4 * float(tf.reduce_max(tf.abs(found)))
        )
    assert float(tf.reduce_max(tf.abs(apart[0][0]))) == 0  # real images do not reach G
    assert float(tf.reduce_max(tf.abs(apart[1][0]))) > 0


def test_the_floor_runs_in_both_precisions() -> None:
    for precision in ("float32", "mixed_bfloat16"):
        take, _ = floor.make(Task(BATCH, precision, ""))
        assert all(math.isfinite(number) for number in take(2))


@pytest.mark.parametrize(("model", "module"), [("pix2pix", street), ("gan3d", showers)])
@pytest.mark.thorough
def test_plain_loops_train_the_other_models(model: str, module: Any) -> None:
    settings = parse({"model": model, "batch_size": 2}).model_dump()
    take, version = module.make(Task(2, "float32", "", settings=settings))
    losses = take(2)
    assert np.isfinite(losses).all()
    assert "tensorflow" in version


@pytest.mark.parametrize("net", [0, 1], ids=["generator", "discriminator"])
@pytest.mark.parametrize("geometry", ["25x25x25", "51x51x25"])
def test_plain_networks_of_the_3dgan_have_the_size_of_ours(geometry: Any, net: int) -> None:
    described = (architecture.generator, architecture.discriminator)[net](geometry)
    shape = ((architecture.LATENT[geometry],), architecture.SHAPES[geometry])[net]
    entering = keras.Input(shape)
    built = keras.Model(entering, plain.apply(described, entering, showers.own))
    config = parse({"model": "gan3d", "geometry": geometry})
    own = (networks.generator, networks.discriminator)[net](config)
    assert built.count_params() == own.count_params()
