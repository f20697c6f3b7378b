"""Exports that were changed on their way: read in whole or refused in a sentence, and nothing is
stored of what was refused."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from ganboard.db.models import Run
from ganboard.db.runs import commands, queries
from ganboard.gan.config import invalid_reason
from ganboard.worker.clear_errors import CLEAR_ERRORS
from ganboard.worker.context import Context
from ganboard.worker.interchange import importer
from ganboard.worker.interchange.bundle import BadBundle
from ganboard.worker.interchange.document import complete_document, encode
from ganboard.worker.interchange.export import export
from tests.fuzz.cases import fuzzed, refusal
from tests.fuzz.test_archives import CHANGES, Change, changed
from tests.ui.pages import open_page

MakeRun = Callable[..., Run]
VALUES: list[Any] = [
    None, True, False, 0, -1, 1.5, 2**53, 2**63, 1e308, "", "x", "nan", "0x1p0", "0x1p99999", "64",
    "<script>", "\ud800", "a\0b", "\u202e", [], [[]], {}, {"a": {}}, [None], ["x"] * 600,
    "x" * 5000, "2026-01-01T00:00:00Z", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59",
    "../../x", "running",
]  # fmt: skip
VALUE = st.sampled_from(VALUES)
FURTHER = (
    "../x",
    "x.py",
    "grids/../../x",
    "RUN.JSON",
    "grids/epoch-1.png",
    "a" * 200,
    ".hidden",
    "grids",
    "run.json/x",
)
PATH = st.lists(st.integers(0, 200), min_size=1, max_size=4)
EDIT = st.tuples(st.sampled_from(["set", "drop", "add", "double"]), PATH, VALUE)


def edited(run: Any, edit: tuple[str, list[int], Any]) -> None:
    """Change what a path of indices leads to, counting the members of each level round and
    round."""
    what, path, value = edit
    place = run
    for step in path[:-1]:
        members = (
            list(place.values())
            if isinstance(place, dict)
            else place
            if isinstance(place, list)
            else []
        )
        inner = members[step % len(members)] if members else None
        if not isinstance(inner, dict | list) or not inner:
            break
        place = inner
    if isinstance(place, dict):
        key: Any = list(place)[path[-1] % len(place)]
    else:
        key = path[-1] % len(place)
    if what == "set":
        place[key] = value
    elif what == "drop":
        del place[key]
    elif isinstance(place, dict):
        place[f"{key}x" if what == "add" else str(value)[:100]] = value
    else:
        place.insert(key, value if what == "add" else place[key])


@pytest.fixture
def exported(context: Context, make_run: MakeRun, tmp_path: Path) -> dict[str, bytes]:
    """The files of a whole export."""
    run = make_run("measured <b>elsewhere</b>", epochs=2, steps_per_epoch=4, quality_every=1)
    export(context, run, tmp_path / "out")
    return {
        path.relative_to(tmp_path / "out").as_posix(): path.read_bytes()
        for path in (tmp_path / "out").rglob("*")
        if path.is_file()
    }


@pytest.fixture
def there(
    exported: dict[str, bytes], tmp_path: Path, new_home: Callable[[Path], Context]
) -> Iterator[Context]:
    opened = new_home(tmp_path / "there")
    yield opened
    opened.engine.dispose()


def written(folder: Path, files: dict[str, bytes], *, honest: bool = True) -> Path:
    """A bundle of these files; unless `honest` its digests stay those of the export."""
    shutil.rmtree(folder, ignore_errors=True)
    digests = {
        name: hashlib.sha256(data).hexdigest()
        for name, data in files.items()
        if name != "manifest.json"
    }
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(
            json.dumps({"format": 1, "files": digests}).encode()
            if honest and name == "manifest.json"
            else data
        )
    return folder


def read(there: Context, path: Path) -> str | None:
    """The refusal, None when the run was stored; then it can be shown, and is deleted again."""
    said = refusal(CLEAR_ERRORS, importer.read_in, there, path)
    runs = queries.list_runs(there.engine, archived=True)
    if said:
        assert not runs
        return said
    [run] = runs
    assert invalid_reason(run.config) is None
    assert encode(complete_document(there, run)).decode()
    commands.delete_run(there.engine, run_id=run.id)
    return None


@fuzzed(
    6,
    name=st.sampled_from(
        ["run.json", "steps.csv", "manifest.json", "grids/epoch-0001.png", "epochs.csv"]
    ),
    changes=CHANGES,
    honest=st.booleans(),
)
def test_damaged_files(
    exported: dict[str, bytes],
    there: Context,
    tmp_path: Path,
    name: str,
    changes: list[Change],
    honest: bool,
) -> None:
    files = {**exported, name: changed(exported[name], changes)}
    said = read(there, written(tmp_path / "in", files, honest=honest))
    assert said or honest or files == exported or name == "epochs.csv", (
        "the one of these that is not read in"
    )


@fuzzed(12, edits=st.lists(EDIT, min_size=1, max_size=3))
def test_other_values_in_the_document(
    exported: dict[str, bytes],
    there: Context,
    tmp_path: Path,
    edits: list[tuple[str, list[int], Any]],
) -> None:
    run = json.loads(exported["run.json"])
    for edit in edits:
        edited(run, edit)
    read(there, written(tmp_path / "in", {**exported, "run.json": json.dumps(run).encode()}))


@fuzzed(
    0.3,
    edits=st.lists(EDIT, min_size=1, max_size=2),
    view=st.sampled_from(["Losses", "Config", "Timings", "Quality", "System", "Events"]),
)
def test_what_was_read_in_is_shown(
    exported: dict[str, bytes],
    there: Context,
    tmp_path: Path,
    edits: list[tuple[str, list[int], Any]],
    view: str,
) -> None:
    run = json.loads(exported["run.json"])
    for edit in edits:
        edited(run, edit)
    path = written(tmp_path / "in", {**exported, "run.json": json.dumps(run).encode()})
    found: list[Run] = []
    if refusal(CLEAR_ERRORS, lambda: found.append(importer.read_in(there, path))):
        return
    open_page("run", run=found[0].id, view=view)
    open_page("runs")
    commands.delete_run(there.engine, run_id=found[0].id)


@fuzzed(6, changes=CHANGES)
def test_damaged_zips(
    exported: dict[str, bytes], there: Context, tmp_path: Path, changes: list[Change]
) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in exported.items():
            archive.writestr(f"run/{name}", data)
    path = tmp_path / "in.zip"
    path.write_bytes(changed(buffer.getvalue(), changes))
    read(there, path)


@fuzzed(4, names=st.lists(st.sampled_from(FURTHER), min_size=1, max_size=2))
def test_further_files(
    exported: dict[str, bytes], there: Context, tmp_path: Path, names: list[str]
) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in [*exported.items(), *((name, b"x") for name in dict.fromkeys(names))]:
            archive.writestr(name, data)
    path = tmp_path / "in.zip"
    path.write_bytes(buffer.getvalue())
    assert read(there, path)
    assert not (tmp_path / "x").exists()


def test_numbers_of_thousands_of_digits(
    exported: dict[str, bytes], there: Context, tmp_path: Path
) -> None:
    for place in ('"epochs": 2', '"batch_size": 64', '"attempt": 1', '"seed": 0'):
        name = place.split(":")[0]
        data = exported["run.json"].replace(place.encode(), f"{name}: {'9' * 5000}".encode())
        if data != exported["run.json"]:
            assert read(there, written(tmp_path / "in", {**exported, "run.json": data}))


def test_refusals_are_of_one_kind(there: Context, tmp_path: Path) -> None:
    with pytest.raises(BadBundle):
        importer.read_in(there, tmp_path / "nothing")


@pytest.mark.parametrize("listed", ["grids", "quality", "samples", "epochs", "tags", "events"])
def test_rows_that_occur_twice(
    exported: dict[str, bytes], there: Context, tmp_path: Path, listed: str
) -> None:
    run = json.loads(exported["run.json"])
    run["samples"] = [
        {
            "at": "2026-01-01T00:00:00Z",
            "attempt": 1,
            "cpu_percent": 1,
            "rss_bytes": 1,
            "memory_percent": 1,
        }
    ]
    run["tags"] = ["baseline"]
    run[listed].append(run[listed][0])
    said = read(there, written(tmp_path / "in", {**exported, "run.json": json.dumps(run).encode()}))
    assert bool(said) == (listed not in ("tags", "events"))


def test_settings_are_stored_with_their_types(
    exported: dict[str, bytes], there: Context, tmp_path: Path
) -> None:
    run = json.loads(exported["run.json"])
    run["config"] = {
        "dataset": "digits",
        "batch_size": "16",
        "epochs": 2.0,
        "xla": "no",
        "seed": "7",
        "precision": "float32",
    }
    run = importer.read_in(
        there, written(tmp_path / "in", {**exported, "run.json": json.dumps(run).encode()})
    )
    assert run.config == {
        "dataset": "digits",
        "batch_size": 16,
        "epochs": 2,
        "xla": False,
        "seed": 7,
        "precision": "float32",
    }
