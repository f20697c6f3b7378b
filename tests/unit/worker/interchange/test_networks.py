"""`ganboard networks`: which networks, of which epoch, and what is refused before any work."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ganboard.db.models import Run
from ganboard.worker.context import Context
from ganboard.worker.interchange import networks
from tests.cli import document, ganboard, refused
from tests.registered import DCGAN, config, finished
from tests.scripts import script_run

MakeRun = Callable[..., Run]
# of Keras, as it saves its variables
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


def test_networks_of_the_newest_checkpoint_with_a_text(context: Context, tmp_path: Path) -> None:
    run, _ = finished(context, config(DCGAN), epochs=(2, 3))
    folder = tmp_path / "out"
    said = document("networks", run.id, str(folder))
    assert (said["id"], said["epoch"]) == (run.id, 3)
    assert [one["path"] for one in said["files"]] == ["generator.keras", "discriminator.keras"]
    assert said["files"][0]["inputs"] == [
        {"name": "latent", "shape": [None, 8], "dtype": "float32"}
    ]
    assert said["files"][0]["difference"] < 1e-5
    text = (folder / "README.txt").read_text()
    assert "after epoch 3" in text
    assert 'load_model("generator.keras")' in text
    assert "onnxruntime" not in text
    assert "generator.keras: latent [batch, 8] float32 -> [batch, 28, 28, 1] float32" in text
    said = ganboard(
        *("networks", run.id, str(tmp_path / "g"), "--network", "generator", "--epoch", "2")
    )
    assert "after epoch 2" in said.stdout
    assert sorted(path.name for path in (tmp_path / "g").iterdir()) == [
        "README.txt",
        "generator.keras",
    ]


def test_what_cannot_be_written_is_refused(
    context: Context, make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, _ = finished(context, config(DCGAN))
    full = tmp_path / "full"
    full.mkdir()
    (full / "file").touch()
    new = str(tmp_path / "new")
    assert "is no format: choose from keras" in refused(
        *("networks", run.id, new, "--format", "torch")
    )
    assert "has no checkpoint of epoch 9: choose from 3" in refused(
        *("networks", run.id, new, "--epoch", "9")
    )
    assert "keeps no moving average" in refused(*("networks", run.id, new, "--weights", "average"))
    assert "are no weights: choose from average" in refused(
        *("networks", run.id, new, "--weights", "best")
    )
    assert "is no network: choose from generator" in refused(
        *("networks", run.id, new, "--network", "critic")
    )
    assert "is not empty" in refused("networks", run.id, str(full))
    assert "A script trained run" in refused("networks", script_run(context).id, new)
    assert "checkpoint" in refused("networks", make_run("x", status="queued").id, new)
    monkeypatch.setattr(networks, "find_spec", lambda _: None)
    assert "ganboard[onnx]" in refused("networks", run.id, new, "--format", "onnx")
    assert not Path(new).exists()
