"""A claim as a file and on the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ganboard.worker.claims import report, verdict
from ganboard.worker.context import Context
from ganboard.worker.reports.page import PLOTLY_JS, ReportFailed
from tests.cli import document, ganboard
from tests.unit.worker.claims.pairs import play, stated
from tests.unit.worker.claims.test_driver import faster, same


def test_the_file_has_verdict_data_and_command(context: Context, tmp_path: Path) -> None:
    ended = play(context, stated(context), faster(1.6), same)
    path = tmp_path / "claim.html"
    ganboard("claims", "export", ended.id, str(path))
    text = path.read_text()
    assert "Supported after" in text
    assert "ganboard claim &#39;at least 1.3x as fast per epoch and equal fid" in text
    assert "Test CPU @ 2.00 GHz" in text
    (data,) = re.findall(r'<script type="application/json" id="claim-data">(.*?)</script>', text)
    found = json.loads(data)
    assert found["status"] == "supported"
    assert len(found["pairs"]) == len(ended.evidence)
    assert found["conditions"][0]["holds"] == [1.3, None]
    last = found["conditions"][0]["intervals"][-1]
    assert 1.3 < last["low"] < last["mean"] < last["high"]
    # nothing outside is named where a browser would look for it
    page = text.replace(PLOTLY_JS.read_text(), "")
    assert not re.search(r"(src|href)\s*=\s*[\"']?(https?:)?//", page)


def test_a_claim_without_pairs_has_a_file_as_well(context: Context) -> None:
    assert "No pair has finished yet." in report.render(verdict.of(stated(context)))


def test_a_file_that_cannot_be_written(context: Context, tmp_path: Path) -> None:
    with pytest.raises(ReportFailed, match="Choose another path"):
        report.write(verdict.of(stated(context)), tmp_path / "no" / "claim.html")


def test_the_commands_of_claims(context: Context) -> None:
    assert "There is no claim yet" in ganboard("claims").output
    claim = stated(context)
    assert f"{claim.id}  " in ganboard("claims").output
    assert document("claims")[0]["status"] == "open"
    said = ganboard("claims", "show", claim.id[:5]).output
    assert "Open: 0 pairs of at most 6 counted." in said
    assert document("claims", "show", "latest")["planned_pairs"] == 6
    assert "without a verdict" in ganboard("claims", "stop", "latest").output
    assert document("claims")[0]["status"] == "stopped"
    output = ganboard("claims", "stop", "latest", code=1).output
    assert "has ended: it is stopped" in output
    output = ganboard("claims", "show", "nobody", code=1).output
    assert "There is no claim 'nobody': `ganboard claims` lists them." in output
