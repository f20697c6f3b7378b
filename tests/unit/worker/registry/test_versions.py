"""`ganboard models`: versions from runs, the gate of quality, what is refused, and what the command
line says."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ganboard.db import versions
from ganboard.db.errors import NotAllowed
from ganboard.db.models import ModelVersion
from ganboard.gan.checkpoint import store
from ganboard.gan.generation.generation import Generator
from ganboard.gan.generation.package import VersionError
from ganboard.gan.progress import Progress
from ganboard.worker.context import Context
from ganboard.worker.registry import measurement
from ganboard.worker.registry import versions as models
from tests.cli import document, ganboard, refused
from tests.registered import DCGAN, GAN3D, config, finished


@pytest.fixture(autouse=True)
def footprint(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path, str], float]:
    """Two starts of TensorFlow fewer in each test; the real one."""
    real = measurement.footprint
    monkeypatch.setattr(measurement, "footprint", lambda directory, digest: 5e8)
    return real


@pytest.fixture
def digits(context: Context) -> ModelVersion:
    run, _ = finished(context, config(DCGAN))
    return models.add(context, run, "digits")


@pytest.mark.thorough
def test_the_commands_register_list_show_and_forget(context: Context) -> None:
    run, _ = finished(context, config(DCGAN), epochs=(2, 3))
    assert "No models. Register one: ganboard models add" in ganboard("models").stdout
    assert (
        "Registered digits:1 (float32, "
        in ganboard("models", "add", run.id, "--name", "digits").stdout
    )
    assert document("models", "add", run.id, "--name", "digits", "--epoch", "2")["version"] == 2
    assert ganboard("models", "alias", "digits:1", "production").stdout.startswith(
        "digits@production is now digits:1"
    )
    listed = document("models")
    assert [(one["version"], one["epoch"], one["aliases"]) for one in listed] == [
        (2, 2, []),
        (1, 3, ["production"]),
    ]
    text = ganboard("models").stdout
    assert all(word in text for word in ("digits", "production", f"{run.id} epoch 3", "float32"))
    shown = document("models", "show", "digits@production")
    assert shown["manifest"]["run_id"] == run.id
    assert shown["manifest"]["files"]["weights.npz"]["size"] < shown["size"]
    assert (
        shown["manifest"]["files"]["weights.npz"]["sha256"]
        in ganboard("models", "show", "digits:1").stdout
    )
    folder = context.settings.model_dir(shown["id"])
    assert ganboard("models", "remove", "digits:1").stdout == "Removed digits:1.\n"
    assert not folder.exists()
    assert "There is no model digits@production" in refused("models", "show", "digits@production")
    assert "Use NAME:VERSION" in refused("models", "remove", "digits")


def test_versions_survive_their_run(context: Context, digits: ModelVersion) -> None:
    from ganboard.worker import removal

    removal.remove(context, digits.run_id)
    assert isinstance(models.load(context, versions.find(context.engine, "digits")), Generator)


@pytest.mark.parametrize("status", ["failed"])
def test_a_run_that_broke_is_refused(context: Context, status: str) -> None:
    run, _ = finished(context, config(DCGAN), status=status)
    assert "Versions can only be created from finished or stopped runs" in refused(
        "models", "add", run.id, "--name", "digits"
    )


def test_what_cannot_become_a_version_is_said_so(context: Context, home: Path) -> None:
    run, _ = finished(context, config(DCGAN), status="stopped")
    assert "is not a valid model name" in refused("models", "add", run.id, "--name", "../etc")
    assert "has no checkpoint of epoch 7. Available: 3" in refused(
        "models", "add", run.id, "--name", "digits", "--epoch", "7"
    )
    state = context.settings.run_dir(run.id) / "checkpoints" / "ckpt-12-1" / "state.npz"
    state.write_bytes(state.read_bytes()[:-100])
    assert "The checkpoint of step 12 is damaged" in refused(
        "models", "add", run.id, "--name", "digits"
    )
    assert document("models") == []
    assert not list((home / "models").glob("*"))


def test_a_diverged_generator_is_refused(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    run, nets = finished(context, config(DCGAN))
    nets.generator.variables[0].assign(nets.generator.variables[0] * np.nan)
    # no checkpoint of ours would hold it
    monkeypatch.setattr(store, "not_finite", lambda arrays: iter(()))
    directory = context.settings.run_dir(run.id) / "checkpoints"
    store.save(directory, nets.arrays(), Progress(12, 3), digest="", attempt=2)
    with pytest.raises(
        VersionError,
        match=(
            r"^Epoch 3 of run .* has non-finite values in generator/dense/kernel\. Choose"
            r" an epoch"
        ),
    ):
        models.add(context, run, "digits")


@pytest.mark.thorough
def test_int8_is_a_quarter_with_a_parent_and_measured_figures(
    context: Context, digits: ModelVersion
) -> None:
    said = document("models", "quantize", "digits", "--to", "int8", "--limit", "50")
    assert (said["version"], said["variant"], said["parent_id"]) == (2, "int8", digits.id)
    assert said["size"] < 0.3 * digits.size
    assert said["quality"]["psnr"] > 30
    assert said["quality"].keys() >= {
        "percent_worse",
        "fid",
        "fid_full",
        "milliseconds",
        "milliseconds_full",
        "weight_bytes",
        "peak_memory_bytes",
        "peak_memory_bytes_full",
        "mean",
        "spread",
    }
    manifest = models.manifest(context, versions.find(context.engine, "digits:2"))
    assert (manifest.parent_id, manifest.run_id, manifest.quality) == (
        digits.id,
        digits.run_id,
        said["quality"],
    )
    assert "is already int8" in refused("models", "quantize", "digits:2", "--to", "float16")


@pytest.mark.thorough
def test_the_memory_of_a_version_is_that_of_a_process_of_its_own(
    context: Context, digits: ModelVersion, footprint: Callable[[Path, str], float]
) -> None:
    folder = context.settings.model_dir(digits.id)
    assert 2e8 < footprint(folder, digits.digest) < 3e9
    with pytest.raises(
        VersionError,
        match=(
            f"^The memory use of {digits.id} could not be measured .*is not the one that was"
            " registered"
        ),
    ):
        footprint(folder, "0" * 64)


@pytest.mark.parametrize("force", [[], ["--force"]])
def test_a_diverged_version_is_not_quantized(
    context: Context, monkeypatch: pytest.MonkeyPatch, force: list[str]
) -> None:
    from ganboard.gan.generation import generation

    run, _ = finished(context, config(DCGAN, dataset="images", images_path="gone"))
    with monkeypatch.context() as patched:  # no version of ours would hold it
        patched.setattr(generation, "require_finite", lambda arrays, what: None)
        extract = generation.extract
        patched.setattr(
            generation,
            "extract",
            lambda *given: {k: v * np.nan for k, v in extract(*given).items()},
        )
        models.add(context, run, "digits")
    line = refused("models", "quantize", "digits", "--to", "int8", *force)
    assert "digits:1 has non-finite values in generator/" in line
    assert "Choose an epoch before training diverged." in line
    assert [one["version"] for one in document("models")] == [1]


def test_the_gate_refuses_what_is_too_much_worse(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ganboard.gan.generation import quantization

    # no labels: the images themselves are compared
    run, _ = finished(context, config(DCGAN, dataset="images", images_path="gone"))
    models.add(context, run, "digits")

    monkeypatch.setattr(quantization, "_LEVELS", 1)  # -1, 0 and 1: far too few
    line = refused("models", "quantize", "digits", "--to", "int8", "--limit", "5")
    assert "digits:1 as int8 is" in line
    assert (
        "but the limit is 5 %. Nothing was registered. Raise the limit, use float16, or register"
        " it regardless (--limit, --to, --force)." in line
    )
    assert "spread " in line
    assert "PSNR " in line
    assert [one["version"] for one in document("models")] == [1]
    assert len(list((context.settings.state / "models").iterdir())) == 1
    assert (
        document("models", "quantize", "digits", "--to", "int8", "--force")["quality"][
            "percent_worse"
        ]
        > 5
    )


def test_weights_beyond_float16_are_refused(context: Context) -> None:
    settings = config(DCGAN)
    run, nets = finished(context, settings)
    nets.generator.variables[0].assign(nets.generator.variables[0] * 1e9)
    store.save(
        context.settings.run_dir(run.id) / "checkpoints",
        nets.arrays(),
        Progress(12, 3),
        digest="",
        attempt=2,
    )
    models.add(context, run, "digits")
    with pytest.raises(VersionError, match=r"^digits:1 as float16 has non-finite values"):
        models.quantize(context, versions.find(context.engine, "digits"), "float16")


@pytest.mark.thorough
def test_compare_lays_two_versions_side_by_side(context: Context, tmp_path: Path) -> None:
    run, _ = finished(context, config(DCGAN, dataset="images", images_path="gone"))
    models.quantize(context, models.add(context, run, "digits"), "float16")
    both = tmp_path / "both.png"
    said = ganboard("models", "compare", "digits:1", "digits:2", "--picture", str(both)).stdout
    for word in (
        "digits:1 float32",
        "digits:2 float16",
        "psnr",
        "spread",
        "megabytes",
        "weight, MB",
        "peak memory, MB",
        "milliseconds",
    ):
        assert word in said
    assert Image.open(io.BytesIO(both.read_bytes())).size == (8 * 28, 2 * 28)
    metrics = document("models", "compare", "digits:1", "digits:1")["metrics"]
    assert (metrics["largest_difference"], metrics["percent_worse"]) == (0, 0)
    assert "cannot be written" in refused(
        "models", "compare", "digits:1", "digits:2", "--picture", str(tmp_path / "no" / "where.png")
    )


def test_versions_of_different_models_are_not_compared(
    context: Context, digits: ModelVersion
) -> None:
    run, _ = finished(context, config(GAN3D))
    other = models.add(context, run, "showers")
    with pytest.raises(
        NotAllowed, match=(r"^digits:1 and showers:1 have different inputs or outputs")
    ):
        models.compare(context, digits, other)
