"""Files that scripts recorded offline, and exports of such runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import orjson
import pytest
from pydantic import ValidationError

from ganboard.db.curves import logged
from ganboard.db.models import Run
from ganboard.db.runs import commands, external, queries
from ganboard.worker.context import Context
from ganboard.worker.external import importing
from ganboard.worker.external.recording import BadReport
from ganboard.worker.interchange import export, importer
from ganboard.worker.interchange.bundle import BadBundle
from ganboard.worker.interchange.schema import HistogramDocument
from tests.cli import ganboard
from tests.scripts import beginning, script_run

RECORD = """
import sys, ganboard
with ganboard.start("away", {"lr": 0.1}, offline=sys.argv[1]) as run:
    for step in range(1, 21):
        run.log(step, loss=1 / step if step != 7 else float("nan"), g_loss=float("inf"))
    run.epoch(1, val_loss=0.5)
    print("a line", file=run)
print(run.id)
"""


def recorded(folder: Path) -> Path:
    said = subprocess.run(
        [sys.executable, "-c", RECORD, str(folder)], check=True, capture_output=True, text=True
    )
    assert said.stderr == ""
    return folder / f"run-{said.stdout.strip()}.ganboard.jsonl"


def stored(context: Context, run_id: str) -> Run:
    run = queries.get_run(context.engine, run_id)
    assert run is not None
    return run


def test_a_recording_is_read_whole_and_once(context: Context, tmp_path: Path) -> None:
    path = recorded(tmp_path)
    assert importing.is_recording(path)
    found = importing.read_in(context, path)
    assert (found.run.status, found.run.step, found.run.epoch) == ("finished", 20, 1)
    assert found.problem is None
    rows = list(logged.rows(context.engine, found.run.id))
    assert [repr(row[3]) for row in rows if row[0] == "loss"][5:8] == [repr(1 / 6), "nan", "0.125"]
    assert context.settings.log_path(found.run.id).read_text() == "a line\n"
    again = importing.read_in(context, path)
    assert again.reports == 0
    assert list(map(repr, logged.rows(context.engine, found.run.id))) == list(map(repr, rows))


def test_a_torn_recording_is_read_up_to_the_tear(context: Context, tmp_path: Path) -> None:
    path = recorded(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    found = importing.read_in(context, path)
    assert found.run.status == "failed"
    assert found.problem is not None
    assert "what follows is left out: it is cut off." in found.problem
    path.write_bytes(whole)  # the rest is found
    assert importing.read_in(context, path).run.status == "finished"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b'{"start":', "its first line is not the start of a run"),
        (b'{"start":null}\n', "its first line is not the start of a run"),
        (orjson.dumps({"start": beginning(id="../../etc")}) + b"\n", "is not the start"),
        (orjson.dumps({"start": beginning(config={"a": [1]})}) + b"\n", "is not the start"),
    ],
)
def test_what_is_no_recording_is_refused(
    context: Context, tmp_path: Path, text: bytes, said: str
) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(text)
    with pytest.raises(BadReport, match=said):
        importing.read_in(context, path)
    assert queries.count_runs(context.engine) == 0


def test_the_command_says_where_a_recording_is_torn(context: Context, tmp_path: Path) -> None:
    path = recorded(tmp_path)
    path.write_bytes(path.read_bytes() + b'{"report": {"number": 99')
    said = ganboard("import", str(path))
    assert "Line 4 of" in said.stderr or "Line 3 of" in said.stderr
    assert "(away): finished after 1 epochs" in said.stdout


def test_a_run_of_a_script_is_exported_and_imported(context: Context, tmp_path: Path) -> None:
    run = script_run(context, histograms=True)
    rows = list(logged.rows(context.engine, run.id))
    before = logged.histograms(context.engine, run.id)
    export.export(context, run, tmp_path / "out")
    commands.delete_run(context.engine, run_id=run.id)
    back = importer.read_in(context, tmp_path / "out")
    assert (back.external, back.config, back.epoch) == (True, run.config, run.epoch)
    assert list(logged.rows(context.engine, run.id)) == rows
    after = logged.histograms(context.engine, run.id)
    assert [(one.name, one.step, one.edges.tolist(), one.counts.tolist()) for one in after] == [
        (one.name, one.step, one.edges.tolist(), one.counts.tolist()) for one in before
    ]
    assert len(after) == 2
    assert queries.grid_epochs(context.engine, run.id) == [1, 2, 3]
    assert not external.expects(context.engine, run_id=run.id, number=run.reports)


@pytest.mark.parametrize(
    "change",
    [{"edges": [0, 2, 1]}, {"counts": [1]}, {"edges": [0, 1, "nan"]}, {"name": ""}, {"step": -1}],
)
def test_a_histogram_that_contradicts_itself_is_refused(change: dict[str, object]) -> None:
    given = {"name": "w", "step": 1, "time": 1.0, "edges": [0, 1, 2], "counts": [1, 2]}
    HistogramDocument.model_validate(given)
    with pytest.raises(ValidationError):
        HistogramDocument.model_validate({**given, **change})


def test_a_changed_table_of_metrics_is_refused(context: Context, tmp_path: Path) -> None:
    run = script_run(context)
    export.export(context, run, tmp_path / "out")
    commands.delete_run(context.engine, run_id=run.id)
    table = tmp_path / "out" / "logged.csv"
    table.write_text(table.read_text() + "psnr,1e9,x,1\n")
    with pytest.raises(BadBundle, match="modified after the export"):
        importer.read_in(context, tmp_path / "out")
