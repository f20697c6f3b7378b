"""Files of profiler traces: listed, packed, copied, and no link followed."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

import pytest

from ganboard.worker.context import Context
from ganboard.worker.tensorboard import profile, stored
from ganboard.worker.tensorboard.profile import NoTrace
from tests.factories import make_run
from tests.traces import put_trace

FOLDER = "plugins/profile/2026_11_27_08_52_43"
NAMES = [f"{FOLDER}/box.trace.json.gz", f"{FOLDER}/box.xplane.pb"]


def test_a_trace_is_listed_packed_and_copied(context: Context, tmp_path: Path) -> None:
    run = make_run(context, "one", epochs=1)
    put_trace(context, run.id)
    assert profile.files(context, run.id) == [(NAMES[0], 8), (NAMES[1], 6)]
    assert profile.timeline(context, run.id) == NAMES[0]
    profile.pack(context, run.id, tmp_path / "a.zip")
    with ZipFile(tmp_path / "a.zip") as archive:
        assert archive.namelist() == [f"{run.id}/{name}" for name in NAMES]
        assert archive.read(f"{run.id}/{NAMES[1]}") == b"xplane"
    written = stored.write(context, run, tmp_path / "logs")
    assert (written.parent / NAMES[1]).read_bytes() == b"xplane"


def test_a_run_without_one_says_how_to_get_it(context: Context, tmp_path: Path) -> None:
    run = make_run(context, epochs=1)
    assert profile.files(context, run.id) == []
    for ask in (
        lambda: profile.timeline(context, run.id),
        lambda: profile.pack(context, run.id, tmp_path / "a.zip"),
    ):
        with pytest.raises(NoTrace, match="profile_steps=20:30 records one"):
            ask()
    folder = put_trace(context, run.id)
    (folder / "box.trace.json.gz").unlink()
    with pytest.raises(NoTrace, match="was not converted for Perfetto"):
        profile.timeline(context, run.id)


def test_no_link_is_followed(context: Context, tmp_path: Path) -> None:
    run = make_run(context, epochs=1)
    folder = put_trace(context, run.id)
    secret = tmp_path / "secret.xplane.pb"
    secret.write_text("secret")
    (folder / "other.xplane.pb").symlink_to(secret)
    (folder.parent / "elsewhere").symlink_to(tmp_path)
    assert [one.name for one in profile.files(context, run.id)] == NAMES
    for name in (f"{FOLDER}/other.xplane.pb", "plugins/profile/elsewhere/secret.xplane.pb"):
        with pytest.raises(NoTrace):
            profile.opened(context, run.id, name)
