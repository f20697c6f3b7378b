"""An exported run gives back exactly what was stored."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ganboard.db.models import Run
from ganboard.db.runs import queries, reports
from ganboard.gan.events import MEASURES, SERIES
from ganboard.gan.quality.declared import OF_MODEL
from ganboard.worker.context import Context
from ganboard.worker.interchange.export import (
    EPOCH_COLUMNS,
    EVENT_COLUMNS,
    QUALITY_COLUMNS,
    STEP_COLUMNS,
    ExportFailed,
    export,
    safe_cell,
)
from tests.cli import document, ganboard, refused
from tests.factories import FACTS, HOSTILE_NAMES, png

MakeRun = Callable[..., Run]


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_an_export_holds_everything(make_run: MakeRun, context: Context, tmp_path: Path) -> None:
    run = make_run(epochs=3, steps_per_epoch=4, quality_every=1)
    context.settings.log_path(run.id).parent.mkdir(parents=True)
    context.settings.log_path(run.id).write_text("epoch 1 began\n")
    out = tmp_path / "new" / "out"
    files = export(context, run, out)
    assert sorted(path.relative_to(out).as_posix() for path in files) == sorted(
        [
            "manifest.json",
            "run.json",
            "epochs.csv",
            "steps.csv",
            "quality.csv",
            "events.csv",
            "train.log",
            *(f"grids/epoch-{e:04d}.png" for e in range(4)),
        ]
    )
    assert sorted(files) == sorted(path for path in out.rglob("*") if path.is_file())
    assert (out / "train.log").read_text() == "epoch 1 began\n"
    for epoch in range(4):
        grid = queries.grid(context.engine, run.id, epoch)
        assert grid is not None
        assert (out / f"grids/epoch-{epoch:04d}.png").read_bytes() == grid.png
    stored = json.loads((out / "run.json").read_bytes())
    shown = document("show", run.id)
    del shown["phase_seconds"]  # of this moment
    assert {key: stored[key] for key in shown} == shown
    assert [event["text"] for event in stored["events"]] == [
        event.text for event in queries.events(context.engine, run.id)
    ][::-1]
    assert [checkpoint["step"] for checkpoint in stored["checkpoints"]] == [12]


def test_real_images_are_named_so(make_run: MakeRun, context: Context, tmp_path: Path) -> None:
    run = make_run(status="running", epochs=0)
    reports.add_grid(
        context.engine, run_id=run.id, attempt=1, epoch=-1, rows=4, columns=4, png=png(7)
    )
    export(context, run, tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out" / "grids").iterdir()) == [
        "epoch-0000.png",
        "real.png",
    ]
    assert (tmp_path / "out" / "grids" / "real.png").read_bytes() == png(7)


def test_events_are_in_order_and_no_formulas(
    make_run: MakeRun, context: Context, tmp_path: Path
) -> None:
    run = make_run(status="running", epochs=0)
    reports.add_event(context.engine, run_id=run.id, attempt=1, level="warning", text="=1+1")
    export(context, run, tmp_path / "out")
    rows = table(tmp_path / "out" / "events.csv")
    assert tuple(rows[0]) == EVENT_COLUMNS
    assert [(row["level"], row["text"]) for row in rows][-1] == ("warning", "'=1+1")
    assert rows[0]["text"] == "Submitted."


def test_step_losses_are_exact(make_run: MakeRun, context: Context, tmp_path: Path) -> None:
    run = make_run(epochs=3, steps_per_epoch=5)
    export(context, run, tmp_path / "out")
    rows = table(tmp_path / "out" / "steps.csv")
    assert tuple(rows[0]) == STEP_COLUMNS
    assert [int(row["step"]) for row in rows] == list(range(1, 16))
    assert [int(row["epoch"]) for row in rows] == [1] * 5 + [2] * 5 + [3] * 5
    for net in ("g", "d"):
        stored = [
            getattr(queries.step_losses(context.engine, run.id, epoch), f"{net}_losses")
            for epoch in (1, 2, 3)
        ]
        assert np.array_equal(
            np.array([row[f"{net}_loss"] for row in rows], np.float32), np.concatenate(stored)
        )


def test_epochs_are_exact(make_run: MakeRun, context: Context, tmp_path: Path) -> None:
    run = make_run(epochs=3)
    export(context, run, tmp_path / "out")
    rows = table(tmp_path / "out" / "epochs.csv")
    assert tuple(rows[0]) == EPOCH_COLUMNS
    assert {column for row in rows for column, cell in row.items() if not cell} == set(
        MEASURES
    ) - set(rows_measured(context, run))
    for row, epoch in zip(rows, queries.epochs(context.engine, run.id), strict=True):
        assert (float(row["g_loss"]), float(row["d_loss"]), float(row["g_x"])) == (
            epoch.g_loss,
            epoch.d_loss,
            epoch.g_x,
        )
        assert float.fromhex(row["g_loss_hex"]) == epoch.g_loss
        assert {name: float(row[name]) for name in epoch.measures} == epoch.measures


def rows_measured(context: Context, run: Run) -> dict[str, float]:
    return queries.epochs(context.engine, run.id)[0].measures


def test_rates_stand_beside_the_losses(make_run: MakeRun, context: Context, tmp_path: Path) -> None:
    run = make_run(epochs=2, steps_per_epoch=5)
    export(context, run, tmp_path / "out")
    rows = table(tmp_path / "out" / "steps.csv")
    for name in SERIES:
        stored = np.concatenate(
            [queries.step_series(context.engine, run.id, epoch)[name] for epoch in (1, 2)]
        )
        assert np.array_equal(np.array([row[name] for row in rows], np.float32), stored)


def test_what_was_not_measured_is_an_empty_cell(
    make_run: MakeRun, context: Context, tmp_path: Path
) -> None:
    export(context, make_run(epochs=1, measured=False), tmp_path / "out")
    assert {row[name] for row in table(tmp_path / "out" / "epochs.csv") for name in MEASURES} == {
        ""
    }
    assert {row[name] for row in table(tmp_path / "out" / "steps.csv") for name in SERIES} == {""}
    assert table(tmp_path / "out" / "quality.csv") == []


def test_evaluations_are_exact_even_where_json_has_no_literal(
    make_run: MakeRun, context: Context, tmp_path: Path
) -> None:
    run = make_run(status="running", epochs=2, quality_every=1)
    measures = dict.fromkeys(OF_MODEL["dcgan"], 0.1) | {"fid": float("nan"), "kid": float("inf")}
    reports.add_quality(
        context.engine,
        run_id=run.id,
        attempt=1,
        epoch=3,
        seconds=1.0,
        training_seconds=6.0,
        measures=measures,
        histogram=[1.0] * 10,
    )
    export(context, run, tmp_path / "out")
    rows = table(tmp_path / "out" / "quality.csv")
    assert tuple(rows[0]) == (
        *QUALITY_COLUMNS,
        *OF_MODEL["dcgan"],
        *(f"class_{k}" for k in range(10)),
        "quality_features",
    )
    assert {row["quality_features"] for row in rows} == {"classifier"}
    assert [row["epoch"] for row in rows] == ["1", "2", "3"]
    assert [rows[2][name] for name in ("fid", "kid", "recall", "class_9")] == [
        "nan",
        "inf",
        "0.1",
        "1.0",
    ]
    for row, quality in zip(rows[:2], queries.qualities(context.engine, run.id), strict=False):
        assert {name: float(row[name]) for name in OF_MODEL["dcgan"]} == quality.measures
        assert [np.float32(row[f"class_{k}"]) for k in range(10)] == quality.histogram.tolist()
    shown = json.loads((tmp_path / "out" / "run.json").read_bytes())
    assert [quality["fid"] is None for quality in shown["quality"]] == [False, False, True]
    assert shown["facts"] == FACTS


def test_losses_that_are_not_finite_stay_so(
    context: Context, make_run: MakeRun, tmp_path: Path
) -> None:
    run = make_run(status="running", epochs=0, steps_per_epoch=3)
    losses = np.array([np.nan, np.inf, -np.inf], np.float32)
    reports.append_steps(
        context.engine,
        run_id=run.id,
        attempt=run.attempt,
        epoch=1,
        first=0,
        g_losses=losses,
        d_losses=losses,
    )
    export(context, run, tmp_path / "out")
    assert [row["g_loss"] for row in table(tmp_path / "out" / "steps.csv")] == [
        "nan",
        "inf",
        "-inf",
    ]


def test_a_queued_run_exports_empty_tables(
    make_run: MakeRun, context: Context, tmp_path: Path
) -> None:
    files = export(context, make_run(status="queued"), tmp_path / "out")
    assert [path.name for path in files] == [
        "epochs.csv",
        "steps.csv",
        "quality.csv",
        "events.csv",
        "run.json",
        "manifest.json",
    ]
    assert table(tmp_path / "out" / "steps.csv") == []


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_cells_that_a_spreadsheet_would_compute_are_marked(text: str) -> None:
    assert safe_cell(text) == f"'{text}"


def test_other_cells_stay_as_they_are() -> None:
    assert safe_cell("a=b") == "a=b"
    assert safe_cell("") == ""


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_names_survive_in_the_table(
    make_run: MakeRun, context: Context, tmp_path: Path, name: str
) -> None:
    export(context, make_run(name=name, epochs=1), tmp_path / "out")
    assert table(tmp_path / "out" / "epochs.csv")[0]["name"] == safe_cell(name)


def test_a_directory_with_something_in_it_is_refused(
    make_run: MakeRun, context: Context, tmp_path: Path
) -> None:
    run, out = make_run(epochs=1), tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("keep me")
    assert "is not empty" in refused("export", run.id, str(out))
    assert [path.name for path in out.iterdir()] == ["mine.txt"]
    assert "is not empty" in refused("export", run.id, str(out / "mine.txt"))


def test_a_place_that_cannot_be_written_is_named(
    make_run: MakeRun, context: Context, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ExportFailed, match=r"file.* cannot be written"):
        export(context, make_run(epochs=1), tmp_path / "file" / "out")


def test_the_command_says_what_it_wrote(make_run: MakeRun, tmp_path: Path) -> None:
    run = make_run(epochs=2)
    said = ganboard("export", run.id, str(tmp_path / "a")).stdout
    assert "run.json" in said
    assert "3 images" in said
    listed = document("export", run.id, str(tmp_path / "b"))
    assert listed["directory"] == str(tmp_path / "b")
    assert {file["path"] for file in listed["files"]} >= {"run.json", "grids/epoch-0002.png"}
    assert all(
        (tmp_path / "b" / file["path"]).stat().st_size == file["bytes"] for file in listed["files"]
    )
