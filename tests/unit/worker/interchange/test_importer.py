"""Runs that travel: what is read in equals what was exported."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import update

from ganboard.db.curves import series
from ganboard.db.engine import writing
from ganboard.db.errors import NotAllowed
from ganboard.db.models import Run
from ganboard.db.runs import commands, queries, reports
from ganboard.gan.config import parse
from ganboard.worker.context import Context
from ganboard.worker.figures import rehearsal
from ganboard.worker.interchange import importer
from ganboard.worker.interchange.bundle import BadBundle
from ganboard.worker.interchange.document import complete_document
from ganboard.worker.interchange.export import export, export_zip
from ganboard.worker.rehearsal import summary
from ganboard.worker.rehearsal.stored import of_config
from ganboard.worker.submission import submit
from tests.cli import document, ganboard, refused
from tests.factories import FACTS
from tests.ui import rehearsed
from tests.unit.worker.interchange.exports import edited, exported, rewritten

MakeRun = Callable[..., Run]
OWN = (
    "number",
    "directory",
    "log",
    "phase_since",
    "progress_at",
    "worker",
    "lease_until",
    "events",
    "checkpoints",
    "facts",
    "parent_id",
    "sweep",
)


def test_rehearsals_come_along_and_do_not_replace_what_is_here(
    context: Context, run: Run, there: Context, tmp_path: Path
) -> None:
    config = parse(run.config)
    rehearsed.store(context.engine, config)
    rehearsed.refuse(context.engine, config, "v5e-1", "update of D: RESOURCE_EXHAUSTED")
    export(context, run, tmp_path / "bundle")
    rehearsed.refuse(there.engine, config, "v5e-1", "own")
    importer.read_in(there, tmp_path / "bundle")
    own, brought = of_config(there.engine, run.config)
    assert own["reason"] == "own"
    sent = of_config(context.engine, run.config)[1]
    assert brought["step_seconds"] == sent["step_seconds"]
    assert rehearsal.by_part(brought) == rehearsal.by_part(sent)
    assert summary.line(brought) == summary.line(sent)


@pytest.mark.parametrize(("owner", "priority"), [("anna@example.org", 5), ("", 0)])
def test_owner_and_priority_come_along_and_none_is_invented(
    context: Context, run: Run, there: Context, tmp_path: Path, owner: str, priority: int
) -> None:
    with writing(context.engine) as session:
        session.execute(update(Run).values(priority=priority, owner=owner))
    export(context, queries.find_run(context.engine, run.id), tmp_path / "bundle")
    found = importer.read_in(replace(there, user="bert"), tmp_path / "bundle")
    assert (found.owner, found.priority) == (owner, priority)


def test_exports_from_before_have_neither(
    context: Context, run: Run, there: Context, tmp_path: Path
) -> None:
    folder = tmp_path / "bundle"
    export(context, run, folder)
    former = {k: v for k, v in exported(folder).items() if k not in ("owner", "priority")}
    rewritten(folder, "run.json", json.dumps(former).encode())
    found = importer.read_in(there, folder)
    assert (found.owner, found.priority) == ("", 0)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"priority": 101}, "priority.*less than or equal to 100"),
        ({"priority": -101}, "priority.*greater than or equal to -100"),
        ({"owner": "a" * 201}, "owner.*at most 200"),
    ],
)
def test_an_impossible_owner_or_priority_is_refused(
    context: Context, run: Run, there: Context, tmp_path: Path, wrong: dict[str, Any], says: str
) -> None:
    export(context, run, tmp_path / "bundle")
    edited(tmp_path / "bundle", **wrong)
    with pytest.raises(BadBundle, match=says):
        importer.read_in(there, tmp_path / "bundle")


@pytest.mark.parametrize(
    "wrong",
    [
        {"model": "<b>"},
        {"step_seconds": -1},
        {"programs": []},
        {"memory": {"total": 1}},
        {"device_memory": 0},
    ],
)
def test_a_rehearsal_that_pages_could_not_show_is_refused(
    context: Context, run: Run, there: Context, tmp_path: Path, wrong: dict[str, Any]
) -> None:
    rehearsed.store(context.engine, parse(run.config), **wrong)
    export(context, run, tmp_path / "bundle")
    with pytest.raises(BadBundle, match=r"refused: rehearsals\.0"):
        importer.read_in(there, tmp_path / "bundle")


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
        == f"ganboard: Run {run.id} already exists. To import it again, run `ganboard delete"
        f" --permanently {run.id}` first."
    )
    ganboard("delete", run.id)
    assert f"Run {run.id} is in the trash" in refused("import", str(folder))
    ganboard("delete", run.id, "--permanently", "--yes")
    assert (
        f"Run {run.id} (measured elsewhere): finished after 3 epochs"
        in ganboard("import", str(folder)).stdout
    )
    assert "There is no no-such" in refused("import", "no-such")


def test_the_facts_are_those_of_a_run(folder: Path, there: Context, run: Run) -> None:
    found = importer.read_in(there, folder)
    assert set(FACTS) <= set(found.facts)
    shutil.rmtree(folder)  # nothing of it is needed any more
    assert queries.find_run(there.engine, run.id).name == run.name
