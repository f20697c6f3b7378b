"""A run as one file: everything in it, nothing from elsewhere, what people typed escaped, and the
command that repeats it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from ganboard.db.models import Run
from ganboard.db.runs import annotations as run_annotations
from ganboard.db.runs import queries
from ganboard.gan import presets
from ganboard.gan.config import parse, parse_assignments
from ganboard.worker.context import Context
from ganboard.worker.reports import command, page, pdf
from ganboard.worker.reports import run as reports
from tests.cli import ganboard, refused
from tests.factories import HOSTILE_NAMES, lose_model
from tests.scripts import script_run

MakeRun = Callable[..., Run]


def test_it_has_everything_and_needs_nothing_else(
    context: Context, make_run: MakeRun, tmp_path: Path
) -> None:
    run = make_run(HOSTILE_NAMES[0], quality_every=1, batch_size=16, preset="tiny")
    run_annotations.add_tags(context.engine, run_ids=[run.id], tags=["kept"])
    ganboard("report", run.id, "--html", str(tmp_path / "run.html"))
    html = (tmp_path / "run.html").read_text()
    own = html.replace(page.PLOTLY_JS.read_text(), "")
    assert "<script>alert(1)" not in own
    assert not re.search(r"""(src|href)=["'](https?:)?//""", own)
    for word in (
        "kept", "Test CPU @ 2.00 GHz", "FID (classifier)", "data:image/png;base64,",
        "Checked: ", "● batch_size", "ganboard run --preset tiny", "All-reduce", "Attempt",
    ):  # fmt: skip
        assert word in own, word
    assert own.count('id="figure-') >= 8


def test_a_run_without_anything_is_reported(context: Context, make_run: MakeRun) -> None:
    html = reports.render(context, make_run(status="queued"))
    for sentence in (
        "the run had not ended", "No step was recorded", "was not evaluated",
        "No image grid is stored", "has not said where it trained", "has not taken a step",
    ):  # fmt: skip
        assert sentence in html, sentence
    assert "Run the script again" in reports.render(context, script_run(context))


def test_the_command_gives_the_settings_of_the_run(context: Context, make_run: MakeRun) -> None:
    for preset in ("tiny", ""):
        run = make_run(preset=preset, g_learning_rate=3e-4, limit=None, xla=True)
        words = shlex.split(command.repeat(run)[0])
        assert words[:2] == ["ganboard", "run"]
        changes = [word for before, word in pairwise(words) if before == "--set"]
        name = words[words.index("--preset") + 1] if preset else None
        given = parse_assignments(changes)
        again = presets.load(name, given) if name else parse(given)
        assert again.model_dump(mode="json") == run.config
    lose_model(context, run)
    assert "model=gone" in command.repeat(queries.find_run(context.engine, run.id))[0]


def test_the_pdf_is_printed_by_a_browser_of_this_machine(
    context: Context, make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run()
    if pdf.browser() is None:
        pytest.skip(pdf.NONE)
    ganboard("report", run.id, "--pdf", str(tmp_path / "run.pdf"))
    assert (tmp_path / "run.pdf").read_bytes().startswith(b"%PDF-")
    with pytest.raises(page.ReportFailed, match="cannot be written"):
        pdf.write("<p>", tmp_path / "gone" / "run.pdf")


def test_what_cannot_be_written_is_refused_in_one_sentence(
    context: Context, make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run()
    assert "Name one kind of report" in refused("report", run.id)
    assert "Name one kind of report" in refused("report", run.id, "a.html", "--html", "b.html")
    gone = str(tmp_path / "gone" / "run.html")
    assert "cannot be written" in refused("report", run.id, "--html", gone)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(page.ReportFailed, match="No Chromium or Chrome was found on PATH"):
        pdf.write("<p>", tmp_path / "run.pdf")
