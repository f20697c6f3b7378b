"""Runs that travel: what is read in equals what was exported, and what was changed or made up is
refused with a sentence."""

from __future__ import annotations

import csv
import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ganboard.db.errors import NotAllowed
from ganboard.db.models import Run
from ganboard.db.runs import commands, queries, reports, series
from ganboard.worker.context import Context
from ganboard.worker.interchange import importer
from ganboard.worker.interchange.bundle import BadBundle
from ganboard.worker.interchange.document import complete_document
from ganboard.worker.interchange.export import export, export_zip
from ganboard.worker.submission import submit
from tests.cli import document, ganboard, refused
from tests.factories import FACTS, png

MakeRun = Callable[..., Run]
OWN = (
    "number",
    "directory",
    "log",
    "phase_since",
    "worker",
    "lease_until",
    "events",
    "checkpoints",
    "facts",
    "parent_id",
    "sweep",
)


@pytest.fixture
def run(make_run: MakeRun) -> Run:
    return make_run("measured elsewhere", epochs=3, steps_per_epoch=4, quality_every=1)


@pytest.fixture
def folder(context: Context, run: Run, tmp_path: Path) -> Path:
    export(context, run, tmp_path / "out")
    return tmp_path / "out"


@pytest.fixture
def there(
    context: Context, folder: Path, tmp_path: Path, new_home: Callable[[Path], Context]
) -> Context:
    """Another home."""
    return new_home(tmp_path / "there")


def rewritten(folder: Path, name: str, content: bytes) -> None:
    """Change a file and its digest, as somebody would who knows the format."""
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_bytes(content)
    manifest = json.loads((folder / "manifest.json").read_bytes())
    manifest["files"][name] = hashlib.sha256(content).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))


def edited(folder: Path, **changes: Any) -> None:
    exported = json.loads((folder / "run.json").read_bytes())
    rewritten(folder, "run.json", json.dumps({**exported, **changes}).encode())


def exported(folder: Path) -> Any:
    return json.loads((folder / "run.json").read_bytes())


def test_former_names_arrive_as_the_present_ones(folder: Path, there: Context) -> None:
    former = {"model": "pix2pix", "dataset": "street", "geometry": "64x64"}
    edited(folder, config={**exported(folder)["config"], **former}, preset="street")
    found = importer.read_in(there, folder)
    assert (found.config["dataset"], found.preset) == ("vortex_street", "vortex_street")


@pytest.mark.parametrize("kind", ["folder", "zip"])
def test_everything_arrives(
    context: Context, run: Run, folder: Path, there: Context, tmp_path: Path, kind: str
) -> None:
    if kind == "zip":
        export_zip(context, run, tmp_path / "packed.zip")
    found = importer.read_in(there, folder if kind == "folder" else tmp_path / "packed.zip")
    assert found.id == run.id
    here, now = (
        complete_document(at, queries.find_run(at.engine, run.id)) for at in (context, there)
    )
    assert {key: value for key, value in now.items() if key not in OWN} == {
        key: value for key, value in here.items() if key not in OWN
    }
    assert {key: value for key, value in now["facts"].items() if key != "imported_at"} == here[
        "facts"
    ]
    for epoch in range(1, 4):
        before, after = (queries.step_losses(at.engine, run.id, epoch) for at in (context, there))
        assert before is not None
        assert after is not None
        assert before.g_losses.tobytes() == after.g_losses.tobytes()
        assert before.d_losses.tobytes() == after.d_losses.tobytes()
        grids = [queries.grid(at.engine, run.id, epoch) for at in (context, there)]
        assert grids[0].png == grids[1].png  # type: ignore[union-attr]
        before_series, after_series = (
            queries.step_series(at.engine, run.id, epoch) for at in (context, there)
        )
        assert set(before_series) == set(after_series)
        assert all(
            np.array_equal(before_series[name], after_series[name], equal_nan=True)
            for name in before_series
        )
    for frame in (series.epochs_frame, series.quality_frame):
        assert frame(context.engine, [run.id]).equals(frame(there.engine, [run.id]))
    assert series.samples_frame(context.engine, run.id).equals(
        series.samples_frame(there.engine, run.id)
    )
    assert "Imported from " in queries.events(there.engine, run.id, limit=None)[0].text


def test_losses_that_are_not_finite_arrive_too(
    context: Context, make_run: MakeRun, tmp_path: Path, new_home: Callable[[Path], Context]
) -> None:
    run = make_run("broke", status="running", epochs=1, steps_per_epoch=4)
    own: dict[str, Any] = {"run_id": run.id, "attempt": run.attempt}
    losses = np.array([1, np.nan, np.inf, -np.inf], np.float32)
    reports.append_steps(context.engine, **own, epoch=2, first=0, g_losses=losses, d_losses=losses)
    finish = {
        "steps": 4,
        "images": 64,
        "g_loss": np.nan,
        "d_loss": np.nan,
        "seconds": 1.0,
        "compile_seconds": 0.0,
    }
    reports.finish_epoch(
        context.engine, **own, epoch=2, **finish, g_path=(np.nan, 0.0), d_path=(0.0, 0.0)
    )
    commands.finish(context.engine, **own, status="failed", error="The losses are not finite.")
    run = queries.find_run(context.engine, run.id)
    export(context, run, tmp_path / "out")
    there = new_home(tmp_path / "there")
    importer.read_in(there, tmp_path / "out")
    before, after = (series.epochs_frame(at.engine, [run.id]) for at in (context, there))
    assert not np.isfinite(before["g_loss"]).all()
    assert before["g_loss"].equals(after["g_loss"])


def test_an_imported_run_is_cloned_and_not_resumed(
    make_run: MakeRun, context: Context, tmp_path: Path, new_home: Callable[[Path], Context]
) -> None:
    run = make_run("stopped early", status="stopped", epochs=1, steps_per_epoch=4)
    export(context, run, tmp_path / "out")
    there = new_home(tmp_path / "there")
    importer.read_in(there, tmp_path / "out")
    with pytest.raises(
        NotAllowed, match=r"was imported and its checkpoints are on another machine\. Clone it"
    ):
        commands.resume(there.engine, run_id=run.id)
    assert submit.clone(there, run.id, {}).parent_id == run.id


@pytest.mark.usefixtures("there")
def test_the_command(folder: Path, run: Run) -> None:
    assert document("import", str(folder)) == [
        {"id": run.id, "name": run.name, "status": "finished", "epochs": 3}
    ]
    assert (
        refused("import", str(folder)).strip()
        == f"ganboard: Run {run.id} already exists. Delete it first to import it again."
    )
    ganboard("delete", run.id, "--yes")
    assert (
        f"Run {run.id} (measured elsewhere): finished after 3 epochs"
        in ganboard("import", str(folder)).stdout
    )
    assert "There is no no-such" in refused("import", "no-such")


def hostile(change: Callable[[Path], None], sentence: str) -> Any:
    return pytest.param(change, sentence, id=sentence[:50])


def without_row(folder: Path) -> None:
    lines = (folder / "steps.csv").read_bytes().splitlines(keepends=True)
    rewritten(folder, "steps.csv", b"".join(lines[:-1]))


def better_loss(folder: Path) -> None:
    with (folder / "steps.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    rows[2][rows[0].index("g_loss")] = "0.5"
    with (folder / "steps.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    rewritten(folder, "steps.csv", (folder / "steps.csv").read_bytes())


def epoch_with(**changes: Any) -> Callable[[Path], None]:
    return lambda folder: edited(
        folder,
        epochs=[{**exported(folder)["epochs"][0], **changes}, *exported(folder)["epochs"][1:]],
    )


def link(folder: Path) -> None:
    (folder / "train.log").symlink_to("/etc/passwd")


HOSTILE = [
    hostile(
        lambda f: (f / "run.json").write_bytes((f / "run.json").read_bytes() + b" "),
        "run.json was modified after the export",
    ),
    hostile(
        lambda f: (f / "grids" / "epoch-0001.png").write_bytes(png(9)),
        "epoch-0001.png was modified after the export",
    ),
    hostile(
        lambda f: (f / "steps.csv").unlink(),
        "steps.csv is missing or not listed in its manifest.json",
    ),
    hostile(lambda f: (f / "manifest.json").unlink(), "has no manifest.json"),
    hostile(
        lambda f: (f / "extra.sh").write_text("rm -rf /"), "'extra.sh' is not a file of an export",
    ),
    hostile(
        lambda f: (f / "train.log").write_text("x"),
        "train.log is missing or not listed in its manifest.json",
    ),
    hostile(link, "'train.log' is a link"),
    hostile(
        lambda f: (f / "manifest.json").write_text('{"format": 2, "files": {}}'),
        "has format 2, but this ganboard reads format 1",
    ),
    hostile(lambda f: (f / "manifest.json").write_text("[]"), "is refused"),
    hostile(lambda f: (f / "manifest.json").write_text("{" * 100_000), "is refused"),
    hostile(lambda f: rewritten(f, "run.json", b"\xff"), "is refused"),
    hostile(lambda f: rewritten(f, "run.json", b"[" * 100_000), "is refused"),
    hostile(lambda f: rewritten(f, "run.json", b"{}"), "id is {}, but field required"),
    hostile(
        lambda f: rewritten(f, "grids/epoch-0001.png", b"GIF89a"),
        "grids/epoch-0001.png is not a readable PNG",
    ),
    hostile(
        lambda f: rewritten(f, "grids/epoch-0001.png", png(9)[:60]),
        "grids/epoch-0001.png is not a readable PNG",
    ),
    hostile(lambda f: rewritten(f, "steps.csv", b"step,epoch\n1,1\n"), "does not have the columns"),
    hostile(
        lambda f: rewritten(f, "steps.csv", b"epoch,g_loss,d_loss\n1,a,b\n"),
        "steps.csv cannot be read (ValueError)",
    ),
    hostile(
        lambda f: rewritten(f, "steps.csv", b"epoch,g_loss,d_loss\n9,1,1\n"),
        "steps.csv has 1 epochs, run.json has 3",
    ),
    hostile(without_row, "steps.csv has 3 steps in epoch 3, run.json 4 in each"),
    hostile(better_loss, "gives G a mean loss of"),
    hostile(
        lambda f: edited(f, id="../../etc"), "id is '../../etc', but string should match pattern",
    ),
    hostile(
        lambda f: edited(f, status="running"),
        "status is 'running', but string should match pattern",
    ),
    hostile(lambda f: edited(f, name=""), "The name is empty"),
    hostile(lambda f: edited(f, name="a\u202eb"), "invisible or control character"),
    hostile(lambda f: edited(f, tags=["<script>"]), "The tag '<script>' contains '<'"),
    hostile(
        lambda f: edited(f, config={**exported(f)["config"], "batch_size": -1}), "batch_size=-1",
    ),
    hostile(
        lambda f: edited(f, config={**exported(f)["config"], "of_the_future": 1}), "of_the_future",
    ),
    hostile(lambda f: edited(f, epoch=4), "it contains 3 epochs, but declares 4 as finished"),
    hostile(
        lambda f: edited(f, config={**exported(f)["config"], "epochs": 9}),
        "finished after 3 epochs, but its settings ask for 9",
    ),
    hostile(lambda f: edited(f, steps_per_epoch=5), "an epoch does not have the declared 5 steps"),
    hostile(
        lambda f: edited(f, steps_per_epoch=10**12),
        "steps_per_epoch is 1000000000000, but input should be less than",
    ),
    hostile(
        lambda f: edited(f, g_loss_hex="0x1.0p+0"),
        "the run's losses differ from those of its last epoch",
    ),
    hostile(
        lambda f: edited(f, g_loss_hex="not a number"),
        "g_loss_hex is 'not a number', but value error",
    ),
    hostile(lambda f: edited(f, g_loss_hex="0x1p+99999999"), "is refused"),
    hostile(lambda f: edited(f, created_at="yesterday"), "created_at is 'yesterday'"),
    hostile(
        lambda f: edited(f, created_at="2026-01-01T00:00:00"),
        "created_at is '2026-01-01T00:00:00'",
    ),
    hostile(
        lambda f: edited(f, ended_at="0001-01-01T00:00:00+23:59"),
        "in UTC it is outside the years 1 to 9999",
    ),
    hostile(lambda f: edited(f, facts={"a" * 1000: 1}), "is refused"),
    hostile(lambda f: edited(f, facts={"generator_layers": 5}), "facts.generator_layers is 5"),
    hostile(lambda f: edited(f, facts={"class_shares": "all"}), "facts.class_shares is 'all'"),
    hostile(lambda f: edited(f, facts={"deep": {"a": {"b": 1}}}), "is refused: facts.deep"),
    hostile(
        lambda f: edited(f, facts={str(i): i for i in range(501)}), "it has more than 500 entries",
    ),
    hostile(lambda f: edited(f, hardware={"gpus": 4}), "hardware.gpus is 4"),
    hostile(lambda f: edited(f, hardware={"gpus": ["H200"]}), "hardware.gpus.0 is 'H200'"),
    hostile(lambda f: edited(f, hardware={"versions": ["1"]}), "hardware.versions is ['1']"),
    hostile(lambda f: edited(f, hardware="a box"), "hardware is 'a box'"),
    hostile(lambda f: edited(f, epochs="many"), "epochs is 'many'"),
    hostile(epoch_with(seconds="soon"), "epochs.0.seconds is 'soon'"),
    hostile(epoch_with(attempt=-1), "epochs.0.attempt is -1"),
    hostile(
        lambda f: edited(f, grids=[{**exported(f)["grids"][0], "epoch": 77}]),
        "grids/epoch-0077.png is missing",
    ),
    hostile(
        lambda f: edited(f, events=[{**exported(f)["events"][0], "level": "<b>"}]),
        "events.0.level is '<b>'",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("change", "sentence"), HOSTILE)
def test_what_was_changed_or_made_up_is_refused(
    folder: Path, there: Context, change: Callable[[Path], None], sentence: str
) -> None:
    change(folder)
    with pytest.raises(BadBundle) as error:
        importer.read_in(there, folder)
    words = str(error.value)
    assert sentence in words
    assert "\n" not in words
    assert len(words) < 1000
    assert queries.list_runs(there.engine) == []


def test_too_large_a_file_is_refused(
    folder: Path, there: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importer, "MAX_JSON", 5000)
    rewritten(folder, "run.json", (folder / "run.json").read_bytes() + b" " * 10_000)
    with pytest.raises(BadBundle, match=r"run.json is larger than the 5,000 bytes allowed"):
        importer.read_in(there, folder)


def test_the_facts_are_those_of_a_run(folder: Path, there: Context, run: Run) -> None:
    found = importer.read_in(there, folder)
    assert set(FACTS) <= set(found.facts)
    shutil.rmtree(folder)  # nothing of it is needed any more
    assert queries.find_run(there.engine, run.id).name == run.name
