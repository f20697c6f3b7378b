"""A bundle goes to another home, and what is torn or hostile is refused in one sentence."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ganboard.db import calibrations
from ganboard.db.models import Run
from ganboard.db.runs import queries
from ganboard.worker import doctor
from ganboard.worker.context import Context
from ganboard.worker.firstday import bundle, importing, measured
from ganboard.worker.firstday.firstday import document
from ganboard.worker.interchange.bundle import BadBundle
from ganboard.worker.process import machine
from tests.unit.worker.firstday.days import T4, Steps, make_day


@pytest.fixture
def run(make_run: Callable[..., Run]) -> Run:
    return make_run("measured elsewhere", epochs=2, steps_per_epoch=4)


@pytest.fixture
def packed(context: Context, run: Run, tmp_path: Path, steps: Steps) -> Path:
    """The bundle of a day on a T4 with one run."""
    day = make_day(context, tmp_path, T4, quick=True)
    day.runs.append(run.id)
    results = [measured.step_time(day)]
    path = tmp_path / "day.zip"
    bundle.write(context, document(day, results, datetime.now(UTC), 12.0), path)
    return path


@pytest.fixture
def there(new_home: Callable[[Path], Context], tmp_path: Path, packed: Path) -> Context:
    return new_home(tmp_path / "there")


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewrite(path: Path, changes: dict[str, bytes | None], *, digests: bool = True) -> None:
    """Change or remove members; with their digests, as somebody would who knows the format."""
    found: dict[str, Any] = {**members(path), **changes}
    found = {name: data for name, data in found.items() if data is not None}
    if digests and bundle.MANIFEST in found:
        manifest = json.loads(found[bundle.MANIFEST])
        manifest["files"] = {
            name: hashlib.sha256(data).hexdigest()
            for name, data in found.items()
            if name != bundle.MANIFEST
        }
        found[bundle.MANIFEST] = json.dumps(manifest).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in found.items():
            archive.writestr(name, data)


def edited(path: Path, **changes: Any) -> None:
    written = json.loads(members(path)[bundle.MACHINE])
    rewrite(path, {bundle.MACHINE: json.dumps({**written, **changes}).encode()})


@pytest.mark.thorough
def test_runs_come_as_imported_ones_and_step_times_as_of_a_machine_of_its_own(
    there: Context, packed: Path, run: Run
) -> None:
    assert importing.is_bundle(packed)
    found = importing.read_in(there, packed)
    assert found.machine == "box-ab12cd34: Tesla T4 on box"
    assert [one.id for one in found.runs] == [run.id]
    stored = queries.find_run(there.engine, run.id)
    assert "imported_at" in stored.facts
    listed = calibrations.listed(there.engine)
    assert {one.machine for one, _ in listed} == {found.machine}
    assert all(one.imported_at for one, _ in listed)
    checks = [one for one in doctor.checks(there.settings) if one.name == "calibration"]
    assert found.machine in checks[0].text


def test_a_second_import_changes_nothing(there: Context, packed: Path, run: Run) -> None:
    importing.read_in(there, packed)
    again = importing.read_in(there, packed)
    assert (again.runs, again.known) == ([], [run.id])
    assert len(calibrations.listed(there.engine)) == again.calibrations


def test_at_home_nothing_is_doubled(context: Context, packed: Path) -> None:
    before = calibrations.listed(context.engine)
    edited(packed, machine=machine.name(context.settings))
    assert importing.read_in(context, packed).calibrations == 0
    assert calibrations.listed(context.engine) == before


def test_the_report_and_the_bundle_lie_side_by_side(packed: Path) -> None:
    html = packed.with_suffix(".html").read_text()
    assert "First day on Tesla T4" in html
    assert "Median over calls" in html
    assert set(members(packed)) > {"machine.json", "report.html", "manifest.json"}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"version": 2}, "version is 2"),
        ({"machine": ""}, "machine is ''"),
        ({"machine": "box\u202e"}, "contains the invisible or control character"),
        ({"calibrations": [{"target": "t4"}]}, "calibrations.0.key"),
        ({"hardware": {"gpus": "all"}}, "hardware.gpus is 'all'"),
    ],
)
def test_values_out_of_range_are_refused(
    there: Context, packed: Path, changes: dict[str, Any], sentence: str
) -> None:
    edited(packed, **changes)
    refused(there, packed, sentence)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("measured_seconds", 0),
        ("measured_seconds", -1.0),
        ("measured_seconds", 1e9),
        ("estimated_seconds", 0),
        ("key", "../etc"),
        ("target", "t4\n"),
        ("model", "stylegan"),
        ("precision", "float8"),
        ("measured_at", "yesterday"),
        ("facts", {"deep": {"er": 1}}),
    ],
)
def test_strange_calibrations_are_refused(
    there: Context, packed: Path, name: str, value: Any
) -> None:
    first, *rest = json.loads(members(packed)[bundle.MACHINE])["calibrations"]
    edited(packed, calibrations=[{**first, name: value}, *rest])
    refused(there, packed, f"calibrations.0.{name}")


def test_torn_and_changed_files_are_refused(there: Context, packed: Path, run: Run) -> None:
    whole = packed.read_bytes()
    member = f"runs/{run.id}.zip"
    rewrite(packed, {bundle.MACHINE: b"{}"}, digests=False)
    refused(there, packed, "machine.json was modified after it was written")
    packed.write_bytes(whole)
    rewrite(packed, {bundle.MANIFEST: None})
    refused(there, packed, "has no manifest.json: it was cut off")
    packed.write_bytes(whole)
    rewrite(packed, {member: None}, digests=False)
    refused(there, packed, f"{member} is missing or not listed")
    packed.write_bytes(whole)
    rewrite(packed, {"runs/../../x.zip": b""})
    refused(there, packed, "has a name that is empty, absolute, or contains '..'")
    packed.write_bytes(whole)
    rewrite(packed, {"evil.py": b"1"})
    refused(there, packed, "'evil.py' is not a file of such a bundle")
    packed.write_bytes(whole)
    rewrite(packed, {member: b"no zip"})
    refused(there, packed, member)
    packed.write_bytes(whole)
    rewrite(packed, {member: None, "runs/aaaaaaaaaa.zip": members(packed)[member]})
    refused(there, packed, f"runs/aaaaaaaaaa.zip holds the run {run.id}")
    packed.write_bytes(whole[: len(whole) // 2])
    assert not importing.is_bundle(packed)


def refused(there: Context, path: Path, sentence: str) -> None:
    with pytest.raises(BadBundle) as error:
        importing.read_in(there, path)
    text = str(error.value)
    assert sentence in text
    assert "\n" not in text
    assert str(path) in text
    assert queries.list_runs(there.engine) == []
    assert calibrations.listed(there.engine) == []
