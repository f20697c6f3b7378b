"""Surfaces of a trained network: against losses evaluated directly at chosen weights."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from ganboard.db.models import Run
from ganboard.gan import data
from ganboard.gan.checkpoint import snapshots
from ganboard.gan.landscape import compute, geometry
from ganboard.gan.landscape.geometry import LandscapeError, SurfaceRequest
from ganboard.gan.modeling import losses
from ganboard.gan.models.dcgan import architecture
from ganboard.gan.models.dcgan import networks as dcgan
from ganboard.gan.presets import load
from ganboard.gan.rng import philox, tf_philox
from ganboard.gan.rng.philox import Purpose
from ganboard.worker.context import Context
from tests import registered
from tests.recorder import run
from tests.stored import store
from tests.streets import make_street

CONFIG = load("tiny", {"epochs": 3, "limit": 32, "batch_size": 16, "grid_every": 100})
REQUEST = SurfaceRequest(size=5, images=16)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("trained")
    assert run(CONFIG, directory)[1] == "finished"
    return directory


def directly(net: str, weights: geometry.Weights, other: geometry.Weights) -> float:
    """The loss by Keras's own call of both models, no function of ganboard's between."""
    nets = {"g": dcgan.generator(CONFIG), "d": dcgan.discriminator(CONFIG)}
    for name, values in ((net, weights), ("d" if net == "g" else "g", other)):
        for variable, value in zip(nets[name].trainable_variables, values, strict=True):
            variable.assign(value)
    images = data.load(CONFIG, Path()).images
    real = tf.constant(images[philox.order(0, 1, len(images))[:16]].astype(np.float32) / 127.5 - 1)
    zero = tf.constant(0)
    noise = tf_philox.normal(0, Purpose.NOISE, zero, zero, 16, CONFIG.latent_dim)
    masks = [
        tf.reshape(
            tf_philox.keep(0, i, architecture.DROPOUT, zero, zero, 16, int(np.prod(shape))),
            [16, *shape],
        )
        for i, shape in enumerate(architecture.MASKS * 2)
    ]
    fake = nets["g"](noise, training=True)
    fake_logits = nets["d"]([fake, *masks[2:]], training=True)
    if net == "g":
        return float(keras.ops.mean(losses.generator(CONFIG, fake_logits, fake_logits)))
    real_logits = nets["d"]([real, *masks[:2]], training=True)
    return float(keras.ops.mean(losses.discriminator(CONFIG, real_logits, fake_logits)))


def weights_at(directory: Path, net: str, epoch: int) -> geometry.Weights:
    model = (dcgan.generator if net == "g" else dcgan.discriminator)(CONFIG)
    start = [variable.numpy() for variable in model.trainable_variables]
    moves = snapshots.load(
        directory / snapshots.FOLDER, epoch, net, [tensor.shape for tensor in start]
    )
    assert moves is not None
    return [a + b for a, b in zip(start, moves, strict=True)]


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["principal", "random"])
def test_the_surface_is_the_loss_at_its_weights(trained: Path, kind: geometry.Kind) -> None:
    on_progress: list[float] = []
    request = REQUEST.model_copy(update={"plane": kind})
    arrays, facts = compute.compute(
        [(CONFIG, trained)], request, trained, lambda phase, done: on_progress.append(done)
    )
    assert on_progress[0] == 0
    assert on_progress[-1] == pytest.approx(1)
    assert facts["images"] == 16
    for net, other in (("g", "d"), ("d", "g")):
        path = arrays[f"{net}.path"]
        assert path[:, 1].tolist() == [0, 1, 2, 3]
        assert path[-1, 2:4] == pytest.approx([0, 0], abs=1e-6)
        assert path[-1, 5] == 0
        assert (np.diff(path[:, 5]) < 0).all()  # in this short run each epoch comes nearer
        fixed = weights_at(trained, other, 3)
        for epoch in (1, 3):
            assert path[epoch, 4] == pytest.approx(
                directly(net, weights_at(trained, net, epoch), fixed), rel=1e-5
            )
        if kind == "principal":  # four points span three dimensions; the plane holds most
            assert 0.8 < facts["shares"][net] <= 1
            points = [weights_at(trained, net, epoch) for epoch in (1, 2, 3)]
            start = (dcgan.generator if net == "g" else dcgan.discriminator)(CONFIG)
            plane = geometry.principal(
                [[v.numpy() for v in start.trainable_variables], *points], points[-1]
            )
            for row, column in ((0, 0), (2, 3), (4, 1)):
                weights = plane.at(arrays[f"{net}.x"][column], arrays[f"{net}.y"][row])
                assert arrays[f"{net}.surface"][row, column] == pytest.approx(
                    directly(net, weights, fixed), rel=1e-4
                )


@pytest.mark.thorough
def test_two_runs_share_one_plane(trained: Path, tmp_path: Path) -> None:
    other = CONFIG.model_copy(update={"batch_size": 8})
    assert run(other, tmp_path)[1] == "finished"
    arrays, _ = compute.compute(
        [(CONFIG, trained), (other, tmp_path)], REQUEST, trained, lambda phase, done: None
    )
    path = arrays["g.path"]
    assert path[:, 0].tolist() == [0] * 4 + [1] * 4
    assert path[0, 2:5] == pytest.approx(path[4, 2:5], abs=1e-5)  # one seed, one beginning
    assert path[3, 2:4] == pytest.approx([0, 0], abs=1e-6)
    assert np.abs(path[7, 2:4]).max() > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "examples"), [(registered.GAN3D | {"limit": 8}, 8), (registered.PIX2PIX, 3)]
)
@pytest.mark.thorough
def test_other_models_have_surfaces_by_their_recipes(
    context: Context, make_run: Callable[..., Run], settings: dict[str, Any], examples: int
) -> None:
    config = registered.config(settings)
    directory = context.settings.run_dir("moved")
    nets, random = store(config, directory / "checkpoints"), np.random.default_rng(0)
    if config.model == "pix2pix":
        make_street(context, make_run)
    for epoch in (1, 2):
        moves = [
            [0.01 * random.normal(size=v.shape).astype(np.float32) for v in net.trainable_variables]
            for net in (nets.generator, nets.discriminator)
        ]
        snapshots.save(directory / snapshots.FOLDER, epoch, moves)
    request = SurfaceRequest(plane="random", size=5, images=16)
    arrays, facts = compute.compute(
        [(config, directory)], request, context.settings.data, lambda phase, done: None
    )
    assert facts["images"] == examples
    for net in "gd":
        losses_of_path = arrays[f"{net}.path"][:, 4]
        assert np.isfinite(losses_of_path).all()
        assert len(set(losses_of_path.tolist())) == 3
        assert arrays[f"{net}.surface"][2, 2] > 0
    (directory / "checkpoints").rename(directory / "gone")
    with pytest.raises(
        LandscapeError,
        match=r"^Run moved has no checkpoint here, which its surface needs for batch norm",
    ):
        compute.compute(
            [(config, directory)], request, context.settings.data, lambda phase, done: None
        )


def test_runs_without_weights_or_of_another_architecture_are_refused(
    trained: Path, tmp_path: Path
) -> None:
    with pytest.raises(
        LandscapeError,
        match=r"^Run .* kept no snapshots of its weights. Train a clone with snapshots=10",
    ):
        compute.compute([(CONFIG, tmp_path)], REQUEST, trained, lambda phase, done: None)
    narrow = CONFIG.model_copy(update={"latent_dim": 8})
    with pytest.raises(
        LandscapeError, match=r"^Run 2 of 2 has different networks than the first one"
    ):
        compute.compute(
            [(CONFIG, trained), (narrow, tmp_path)], REQUEST, trained, lambda phase, done: None
        )
