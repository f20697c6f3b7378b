"""Networks as files on request: what is written, kept and replaced, and what is refused before any
work."""

from __future__ import annotations

import hashlib
import io
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from ganboard.db import requests
from ganboard.db.models import Request, Run
from ganboard.gan.config import ConfigError
from ganboard.gan.generation.restore import load, untrained
from ganboard.worker.artifacts import network_files as stored
from ganboard.worker.artifacts.network_files import NoNetworkFile
from ganboard.worker.context import Context
from ganboard.worker.interchange import networks
from ganboard.worker.interchange.export import ExportFailed
from ganboard.worker.requests import analysis, loop, network_files
from ganboard.worker.requests.network_files import NetworkFile
from tests.registered import DCGAN, config, finished
from tests.scripts import script_run
from tests.stored import store

# of Keras, as it saves its variables, and of its module for ONNX
pytestmark = [
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:In the future `np.object`:FutureWarning"),
]
GENERATOR = NetworkFile(network="generator")
LATENTS = np.random.default_rng(1).normal(size=(2, 8)).astype(np.float32)


def answered(context: Context, run: Run, asked: NetworkFile = GENERATOR) -> Request:
    request = claimed(context, run, asked)
    loop.answer(context, request, analysis.compute)
    found = requests.find(context.engine, request.id)
    assert found is not None
    return found


def claimed(context: Context, run: Run, asked: NetworkFile = GENERATOR) -> Request:
    request = requests.claim(
        context.engine, requests.NETWORK_FILES, network_files.ask(context, run, asked)
    )
    assert request is not None
    return request


def content(context: Context, found: Request) -> bytes:
    assert found.error is None
    with stored.opened(context, found) as file:
        file.seek(0)
        return file.read()


def outputs(context: Context, run: Run, step: int, *, average: bool = True) -> npt.NDArray[Any]:
    """What the generator of a checkpoint makes of LATENTS."""
    settings = config(run.config)
    generator = untrained(settings)
    directory = context.settings.run_dir(run.id) / "checkpoints"
    load(generator, settings, directory, step, average=average)
    return np.asarray(generator(LATENTS, training=False))


def differ(made: npt.NDArray[Any], expected: npt.NDArray[Any]) -> float:
    """The largest difference as a share of the largest value."""
    return float(np.abs(made - expected).max() / np.abs(expected).max())


def saved_outputs(path: Path, content: bytes) -> npt.NDArray[Any]:
    """The same of a `.keras` file."""
    import keras

    path.write_bytes(content)
    return np.asarray(keras.models.load_model(path)(LATENTS))


def test_a_keras_file_has_the_network_of_the_checkpoint(context: Context, tmp_path: Path) -> None:
    run, _ = finished(context, config(DCGAN), epochs=(2, 3))
    directory = context.settings.run_dir(run.id) / "checkpoints"
    shutil.rmtree(directory / "ckpt-8-1")
    store(config(DCGAN, seed=5), directory, step=8, epoch=2)  # other weights than after step 12
    found = answered(context, run, NetworkFile(network="generator", epoch=2))
    facts = found.facts
    assert facts["file"] == f"{run.id}-generator-epoch-2.keras"
    assert (facts["epoch"], facts["step"], facts["difference"] < 1e-5) == (2, 8, True)
    assert f'load_model("{facts["file"]}")' in facts["usage"]
    assert facts["about"] == "latent [batch, 8] float32 -> [batch, 28, 28, 1] float32"
    written = content(context, found)
    assert (len(written), hashlib.sha256(written).hexdigest()) == (facts["size"], facts["digest"])
    made = saved_outputs(tmp_path / "g.keras", written)
    assert differ(made, outputs(context, run, 8)) < 1e-5
    assert differ(made, outputs(context, run, 12)) > 0.1


def test_average_and_training_weights_are_files_of_their_own(
    context: Context, tmp_path: Path
) -> None:
    run, _ = finished(context, config(DCGAN, ema=0.9))
    for weights, name in (("average", ".keras"), ("training", "-training.keras")):
        found = answered(context, run, GENERATOR.model_copy(update={"weights": weights}))
        assert found.facts["file"] == f"{run.id}-generator-epoch-3{name}"
        made = saved_outputs(tmp_path / name, content(context, found))
        expected = outputs(context, run, 12, average=weights == "average")
        assert differ(made, expected) < 1e-5


def test_a_saved_model_is_a_zip_file_with_a_text(context: Context, tmp_path: Path) -> None:
    import tensorflow as tf

    run, _ = finished(context, config(DCGAN))
    found = answered(context, run, NetworkFile(network="discriminator", format="saved_model"))
    stem = f"{run.id}-discriminator-epoch-3"
    assert found.facts["file"] == f"{stem}.zip"
    with zipfile.ZipFile(io.BytesIO(content(context, found))) as archive:
        archive.extractall(tmp_path)
    assert "tf.saved_model.load" in (tmp_path / stem / "README.txt").read_text()
    served = tf.saved_model.load(str(tmp_path / stem / "discriminator"))
    assert served.serve(tf.zeros((2, 28, 28, 1))).shape == (2, 1)


@pytest.mark.thorough
def test_onnx_runtime_answers_as_the_checkpoint(context: Context) -> None:
    import onnxruntime

    run, _ = finished(context, config(DCGAN))
    found = answered(context, run, NetworkFile(network="generator", format="onnx"))
    session = onnxruntime.InferenceSession(content(context, found))
    (made,) = session.run(None, {"latent": LATENTS})
    assert differ(made, outputs(context, run, 12)) < 1e-5


def test_a_file_takes_the_place_of_older_ones(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(network_files, "KEPT", 2)
    run, _ = finished(context, config(DCGAN), epochs=(2, 3))

    def asked(network: str, epoch: int) -> Request:
        return answered(
            context, run, NetworkFile.model_validate({"network": network, "epoch": epoch})
        )

    def names() -> list[str]:
        found = requests.of_runs(context.engine, requests.NETWORK_FILE, [run.id])
        directory = stored.folder(context, run.id)
        assert {one.id for one in found} == {path.name for path in directory.iterdir()}
        return [one.facts["file"].removeprefix(f"{run.id}-") for one in found]

    first = asked("generator", 2)
    again = asked("generator", 2)
    assert again.id != first.id
    assert names() == ["generator-epoch-2.keras"]
    asked("discriminator", 2)
    asked("discriminator", 3)
    assert names() == ["discriminator-epoch-3.keras", "discriminator-epoch-2.keras"]
    stored.remove(context, run.id, [again.id, *(one.id for one in _all(context, run))])
    assert list(stored.folder(context, run.id).iterdir()) == []


def _all(context: Context, run: Run) -> list[Request]:
    return requests.of_runs(context.engine, requests.NETWORK_FILE, [run.id])


def test_what_cannot_be_is_refused_at_once(context: Context) -> None:
    run, _ = finished(context, config(DCGAN))

    def refused(run: Run, **asked: Any) -> str:
        with pytest.raises((ExportFailed, ConfigError)) as caught:
            network_files.ask(context, run, NetworkFile(network="generator", **asked))
        return str(caught.value)

    assert "has no checkpoint of epoch 9: choose from 3" in refused(run, epoch=9)
    assert "keeps no moving average of its weights" in refused(run, weights="average")
    assert "A script trained run" in refused(script_run(context))
    averaged, _ = finished(context, config(DCGAN, ema=0.9))
    with pytest.raises(ExportFailed, match="Only the generator has a moving average"):
        network_files.ask(
            context, averaged, NetworkFile(network="discriminator", weights="average")
        )
    assert not requests.waiting(context.engine, requests.NETWORK_FILES)


def test_what_only_the_worker_can_know_is_refused_before_any_work(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, _ = finished(context, config(DCGAN))
    phases: list[str] = []

    def said(request: Request) -> str:
        def report(phase: str, _: float) -> None:
            phases.append(phase)

        loop.answer(context, request, analysis.compute, report)
        found = requests.find(context.engine, request.id)
        assert found is not None
        assert found.facts == {}
        return found.error or ""

    with monkeypatch.context() as patched:
        patched.setattr(networks, "find_spec", lambda name: None if name == "onnx" else name)
        request = claimed(context, run, NetworkFile(network="generator", format="onnx"))
        assert said(request) == "ONNX needs the packages of `pip install 'ganboard[onnx]'`."
    request = claimed(context, run)
    shutil.rmtree(context.settings.run_dir(run.id) / "checkpoints" / "ckpt-12-1")
    assert "of epoch 3" in (text := said(request))
    assert "are not on this machine any more. Choose another epoch" in text
    bad = requests.ask(context.engine, requests.NETWORK_FILE, [run.id], {"network": "../etc"})
    request_bad = requests.claim(context.engine, requests.NETWORK_FILES, bad)
    assert request_bad is not None
    assert said(request_bad).startswith("The request cannot be read")
    assert phases == []
    assert not stored.folder(context, run.id).exists()


def test_a_cancelled_request_leaves_no_file(context: Context) -> None:
    run, _ = finished(context, config(DCGAN))
    request = claimed(context, run)
    phases: list[str] = []

    def cancel(phase: str, _: float) -> None:
        phases.append(phase)
        if phase == "finishing":
            requests.forget(context.engine, [request.id])

    with pytest.raises(loop.Withdrawn):
        loop.answer(context, request, analysis.compute, cancel)
    assert phases == ["loading", "reading", "writing", "storing", "finishing"]
    assert list(stored.folder(context, run.id).iterdir()) == []
    assert requests.find(context.engine, request.id) is None


def test_a_damaged_file_is_not_handed_out(context: Context) -> None:
    run, _ = finished(context, config(DCGAN))
    found = answered(context, run)
    path = stored.folder(context, run.id) / found.id
    path.write_bytes(b"other")
    with pytest.raises(NoNetworkFile, match="is damaged on this machine"):
        stored.opened(context, found)
    path.unlink()
    path.symlink_to("/etc/hostname")
    with pytest.raises(NoNetworkFile, match="in no artifact store"):
        stored.opened(context, found)
