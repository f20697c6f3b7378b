"""`ganboard predict` on a stored, untrained network."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from ganboard.db.models import Run
from ganboard.gan.models.pix2pix.flow import frames
from ganboard.gan.models.pix2pix.flow.obstacle import Obstacle
from ganboard.gan.models.pix2pix.flow.recording import Case, Recording
from ganboard.worker.context import Context
from ganboard.worker.models.pix2pix import output
from tests.cli import document, ganboard, refused
from tests.streets import SETTINGS, make_street

MakeRun = Callable[..., Run]


@pytest.fixture
def run(context: Context, make_run: MakeRun) -> Run:
    return make_street(context, make_run)


def test_errors_times_and_a_picture_of_a_run(run: Run, tmp_path: Path) -> None:
    printed = ganboard("predict", run.id, "--steps", "3", "--out", str(tmp_path / "found")).stdout
    found = json.loads((tmp_path / "found" / "prediction.json").read_text())
    assert [(flow["kind"], len(flow["l1"])) for flow in found["flows"]] == [
        ("training", 3),
        ("held-out shape", 3),
    ]
    assert found["run"] == run.id
    assert (found["step"], found["steps"], found["times"]["compiled"]) == (12, 3, 1)
    assert found["l1_one_step"].keys() == {"training", "held-out shape"}
    assert f"{found['flows'][1]['l1'][2]:.4f}" in printed
    assert "rectangle" not in printed
    assert "square, Re 60, held-out shape" in printed
    assert "Checkpoint of step 12." in printed
    picture = Image.open(io.BytesIO((tmp_path / "found" / "prediction.png").read_bytes()))
    assert picture.size == (4 * 66 - 2, 14 + 2 * (14 + 2 * 66))
    assert len(list((tmp_path / "found").iterdir())) == 2


def test_json_is_one_document_and_writes_nothing(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = document("predict", "latest", "--steps", "2", "--sequence", "1", "--group", "1")
    assert [flow["sequence"] for flow in found["flows"]] == [1]
    assert found["group"] == 1
    assert {path.name for path in tmp_path.iterdir()} == {"home"}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--steps", "4"], "steps=4 needs 5 frames of a flow and"),
        (["--steps", "0"], "steps=0 is invalid"),
        (["--steps", "1", "--sequence", "2"], "There is no sequence 2 in"),
        (
            ["--steps", "1", "--halo", "8"],
            (
                "A network of 64x64 pixels with halo=8 does not tile a frame of 64x64: choose a"
                " halo of 0 or 16."
            ),
        ),
        (
            ["--steps", "1", "--halo", "80"],
            "with halo=80 does not tile a frame of 64x64: choose a halo of 0 or 16.",
        ),
        (["--steps", "1", "--out", "/proc/nowhere"], "/proc/nowhere cannot be created"),
    ],
)
def test_what_cannot_be_is_one_line_before_any_work(
    run: Run, arguments: list[str], sentence: str
) -> None:
    assert sentence in refused("predict", run.id, *arguments)


def test_runs_that_predict_nothing(context: Context, make_run: MakeRun, run: Run) -> None:
    other = make_run("digits")
    assert f"Run {other.id} has model=dcgan, but only model=pix2pix predicts flows" in refused(
        "predict", other.id
    )
    bare = make_run("no checkpoint", **SETTINGS)
    assert f"Run {bare.id} has no checkpoint on this machine" in refused(
        "predict", bare.id, "--steps", "1"
    )


def test_frames_that_do_not_divide_into_tiles(context: Context, make_run: MakeRun) -> None:
    frames.write(
        context.settings.data / "wide",
        Recording((Case(Obstacle("circle", 6), 60),), (96, 64), frames=4, discard=20, every=5),
    )
    wide = make_run("wide", **SETTINGS | {"images_path": "wide"})
    assert (
        "A network of 64x64 pixels with halo=0 does not tile a frame of 64x96: choose a halo of 16."
        in refused("predict", wide.id, "--steps", "1")
    )


def test_times_are_compared_with_one_replica(capsys: pytest.CaptureFixture[str]) -> None:
    row: dict[str, Any] = {
        "what": "training",
        "replicas": 1,
        "size": 4,
        "first": 9.0,
        "seconds": 0.4,
        "each": 0.1,
    }
    output.show_times({"cores": 2, "gpus": 0, "rows": [row, {**row, "replicas": 2, "each": 0.08}]})
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines if "training" in line] == [
        ["training", "1", "4", "9.00", "0.400", "100.0"],
        ["training", "2", "4", "9.00", "0.400", "80.0", "1.25"],
    ]  # fmt: skip
    assert "share 2 CPU cores" in lines[-1]
