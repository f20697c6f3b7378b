"""Registered generators of all models: what they are asked and what they make."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ganboard.db.models import ModelVersion
from ganboard.gan import presets
from ganboard.gan.config import RunConfig
from ganboard.gan.generation import generation
from ganboard.gan.generation.generation import Generator
from ganboard.gan.generation.latent_requests import InvalidRequest
from ganboard.gan.generation.package import VersionError
from ganboard.gan.generation.restore import untrained
from ganboard.gan.modeling import samples
from ganboard.gan.models.gan3d import architecture
from ganboard.gan.models.gan3d.data import layouts
from ganboard.gan.rng import tf_philox
from ganboard.gan.rng.philox import Purpose
from ganboard.worker.context import Context
from ganboard.worker.registry import versions
from tests.registered import DCGAN, GAN3D, PIX2PIX, config, finished


def registered(context: Context, settings: RunConfig) -> tuple[Generator, Any]:
    run, nets = finished(context, settings)
    return versions.load(context, versions.add(context, run, "some")), nets


def asked(generator: Generator, document: dict[str, Any]) -> np.ndarray[Any, Any]:
    return generator(generation.read(generator.generation, document))


@pytest.mark.parametrize(
    "changes",
    [{"seed": 5}, {"ema": 0.9}, {"precision": "mixed_bfloat16"}, {"replicas": 2, "batch_size": 64}],
    ids=str,
)
def test_a_dcgan_makes_the_images_of_its_runs_grid(
    context: Context, changes: dict[str, Any]
) -> None:
    settings = presets.load("tiny", changes)
    generator, nets = registered(context, settings)
    count = settings.grid_size**2
    wanted = samples.grid(settings, nets.eval_generator)
    # the grid is one call, whose rounding depends on its rows with AVX2
    unit = 2**-7 if settings.precision == "mixed_bfloat16" else 1e-6
    made = asked(generator, {"seed": settings.seed, "count": count})
    np.testing.assert_allclose(made, wanted, rtol=0, atol=unit)
    np.testing.assert_array_equal(
        asked(generator, {"seed": settings.seed, "count": 3, "first": 1}), made[1:4]
    )


def test_a_3dgan_makes_the_showers_of_its_network(context: Context) -> None:
    settings = config(GAN3D)
    generator, nets = registered(context, settings)
    energies = [10.0, 100.0, 250.0]
    noise = tf_philox.normal(7, Purpose.GRID, np.int32(0), np.int32(0), 3, 200).numpy()
    wanted = nets.generator(noise * np.float32([[0.1], [1], [2.5]]), training=False).numpy()
    made = asked(generator, {"energies": energies, "seed": 7})
    np.testing.assert_allclose(made, wanted, rtol=0, atol=1e-6)
    cells = generator.generation.outputs(made)
    assert cells.shape == (3, 25, 25, 25)
    # its files have GeV
    np.testing.assert_allclose(cells, made[..., 0] / layouts.FIXED.xscale, rtol=1e-6)
    with pytest.raises(InvalidRequest, match=r"^angles have no meaning for geometry=25x25x25"):
        asked(generator, {"energies": energies, "angles": [90, 90, 90]})


def test_an_angle_changes_the_latents_of_the_wide_geometry() -> None:
    of = generation.of(config(GAN3D, geometry="51x51x25"))
    latents = generation.read(of, {"energies": [150, 200], "angles": [60, 120], "seed": 1})
    np.testing.assert_allclose(latents[:, :2], [[1.5, np.pi / 3], [2, 2 * np.pi / 3]], rtol=1e-6)
    assert latents.shape == (2, architecture.LATENT["51x51x25"])
    with pytest.raises(InvalidRequest, match=r"^2 energies and 1 angles do not belong together"):
        generation.read(of, {"energies": [150, 200], "angles": [60]})


@pytest.mark.thorough
def test_a_pix2pix_makes_the_frames_of_its_network(context: Context) -> None:
    generator, nets = registered(context, config(PIX2PIX))
    frames = np.random.default_rng(0).uniform(-1, 1, (2, 64, 64, 4)).astype(np.float32)
    wanted = nets.generator(
        [frames, *[None] * (len(nets.generator.inputs) - 1)], training=False
    ).numpy()
    made = asked(generator, {"frames": frames})
    np.testing.assert_allclose(made, wanted, rtol=0, atol=1e-5)
    np.testing.assert_array_equal(asked(generator, {"frames": frames[:1].tolist()}), made[:1])


@pytest.mark.parametrize("settings", [DCGAN, GAN3D], ids=["dcgan", "gan3d"])
def test_a_row_has_the_same_bits_whatever_comes_with_it(
    context: Context, settings: dict[str, Any]
) -> None:
    generator, _ = registered(context, config(settings))
    request = (
        {"seed": 1, "count": 20}
        if settings is DCGAN
        else {"energies": [float(10 + i) for i in range(20)]}
    )
    inputs = generation.read(generator.generation, request)
    whole = generator(inputs)
    for rows in (np.arange(1), np.arange(13), np.array([19, 3, 7])):
        np.testing.assert_array_equal(generator(inputs[rows]), whole[rows])


@pytest.mark.parametrize(
    ("settings", "document", "words"),
    [
        (DCGAN, {}, "seed="),
        (DCGAN, {"seed": -1}, "^seed=-1 is invalid: input should be greater than or equal to 0"),
        (
            DCGAN,
            {"seed": 1, "count": 65},
            "^count=65 is invalid: input should be less than or equal to 64",
        ),
        (DCGAN, {"seed": 1, "sedd": 2}, "^sedd=2 is invalid"),
        (GAN3D, {"energies": []}, "^energies="),
        (GAN3D, {"energies": [float("nan")]}, r"^energies\.0=nan is invalid"),
        (
            GAN3D,
            {"energies": [1.0]},
            r"^energies\.0=1\.0 is invalid: input should be greater than or equal to 2",
        ),
        (PIX2PIX, {"frames": "x"}, "^frames are no array of numbers"),
        (
            PIX2PIX,
            {"frames": [[1]]},
            r"^frames of shape \[1, 1\] do not fit: give an array \[n, 64, 64, 4\]",
        ),
        (
            PIX2PIX,
            {"frames": np.full((1, 64, 64, 4), np.inf)},
            "^frames hold values that are not finite",
        ),
    ],
    ids=str,
)
def test_a_request_that_cannot_be_answered_says_why(
    settings: dict[str, Any], document: dict[str, Any], words: str
) -> None:
    with pytest.raises(InvalidRequest, match=words):
        generation.read(generation.of(config(settings)), document)


def test_weights_of_other_networks_are_refused(context: Context, tmp_path: Path) -> None:
    generator, _ = registered(context, config(DCGAN))
    other = generator.manifest.model_copy(
        update={"config": config(DCGAN, latent_dim=9).model_dump(mode="json")}
    )
    weights = {v.path: v.numpy() for v in generator._network.variables}
    with pytest.raises(
        VersionError,
        match=r"^The weights do not match the generator of this version in generator/dense/kernel",
    ):
        Generator(other, weights)
    del weights["generator/dense/kernel"]
    with pytest.raises(
        VersionError, match=r"in generator/dense/kernel. Use the version that trained them"
    ):
        Generator(generator.manifest, weights)


def test_kernels_name_the_axis_of_their_output_channels() -> None:
    axes = generation.kernels(config(PIX2PIX))
    shapes = {v.path: v.shape for v in untrained(config(PIX2PIX)).variables}
    assert len(axes) == 12
    assert shapes["conv_1/kernel"][axes["conv_1/kernel"]] == 64
    assert shapes["conv_12/kernel"][axes["conv_12/kernel"]] == 3
    spectral = generation.kernels(config(DCGAN, convolution="spectral"))
    assert spectral == {
        f"generator/{name}/kernel": axis
        for name, axis in (("dense", -1), ("up_1", -2), ("up_2", -2), ("up_3", -2))
    }
    assert len(generation.kernels(config(GAN3D))) == 5


def test_a_version_records_where_it_comes_from(context: Context) -> None:
    run, _ = finished(context, config(DCGAN))
    version = versions.add(context, run, "digits")
    assert isinstance(version, ModelVersion)
    manifest = versions.manifest(context, version)
    assert (manifest.run_id, manifest.epoch, manifest.step, manifest.config) == (
        run.id,
        3,
        12,
        run.config,
    )
    assert manifest.versions.keys() >= {"ganboard", "tensorflow", "keras", "numpy"}
    assert manifest.data is not None
    assert manifest.signature["outputs"]["images"]["shape"] == [None, 28, 28, 1]
    assert manifest.signature["network"]["input"] == {"shape": [None, 8], "dtype": "float32"}
