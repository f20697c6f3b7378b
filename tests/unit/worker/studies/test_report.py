"""A study as one file."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ganboard.db import studies
from ganboard.db.models import Run, Study
from ganboard.db.runs import queries
from ganboard.gan.studies import FIGURES
from ganboard.worker.context import Context
from ganboard.worker.reports import page
from ganboard.worker.studies import report

MakeRun = Callable[..., Run]


def stored(context: Context, make_run: MakeRun, name: str = "run") -> Study:
    for batch in (16, 32):
        make_run(f"{name} {batch}", epochs=3, batch_size=batch)
    study = Study(
        name="mine",
        title="Mine </script><script>alert(1)</script>",
        definition={"purpose": "Why <b>?", "figures": list(FIGURES)},
    )
    studies.store(
        context.engine,
        study,
        counted={"all": [run.id for run in queries.list_runs(context.engine)]},
        missing=[],
    )
    return study


def test_it_needs_nothing_else_and_escapes_what_people_typed(
    context: Context, make_run: MakeRun, tmp_path: Path
) -> None:
    study = stored(context, make_run, "<img src=x onerror=alert(2)>")
    files = report.write(context, study, tmp_path / "report.html")
    html = files[0].read_text()
    own = html.replace(page.PLOTLY_JS.read_text(), "")
    assert "alert(1)</script>" not in own
    assert "<img src=x" not in own
    assert "Why &lt;b&gt;?" in own
    assert not re.search(r"""(src|href)=["'](https?:)?//""", own)
    assert own.count('id="figure-') == 8
    assert "From batch 64 to 512" in own
    for word in ("cannot be tested here", "Machines", "Settings", "batch_size"):
        assert word in own
    lacking = (
        "Too little data for a verdict: needs 3 seeds, has 1; needs batch sizes 64 to 512, has"
        " 16, 32."
    )
    # of Figs. 5, 6, 7 and 10, in the list of claims and at the figure
    assert own.count(lacking) == 2 * 4
    assert ">reproduced<" not in own
    rows = list(csv.DictReader((tmp_path / "report-fig5.csv").read_text().splitlines()))
    assert [int(row["batch_size"]) for row in rows] == [16, 32]


@pytest.mark.thorough
def test_refusals_are_sentences(context: Context, make_run: MakeRun, tmp_path: Path) -> None:
    study = stored(context, make_run)
    for arguments, sentence in (
        (
            ["gone", str(tmp_path / "a.html")],
            "There is no study 'gone': `ganboard studies` lists them.",
        ),
        (
            [study.id, str(tmp_path / "no" / "a.html")],
            "cannot be written (No such file or directory). Choose another path.",
        ),
    ):
        done = subprocess.run(
            [str(Path(sys.executable).with_name("ganboard")), "report", *arguments],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1
        assert sentence in done.stderr
        assert done.stderr.count("\n") == 1
