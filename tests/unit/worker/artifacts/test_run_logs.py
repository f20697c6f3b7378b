"""worker.artifacts.run_logs: what several machines have logged of one run."""

from __future__ import annotations

import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ganboard.db.models import Run
from ganboard.db.placement import artifacts
from ganboard.db.runs import checkpoint_reports, commands
from ganboard.worker import placement
from ganboard.worker.artifacts import run_logs, uploader
from ganboard.worker.artifacts.store import Store, StoreError, open_store
from ganboard.worker.context import Context, open_context
from ganboard.worker.interchange import export
from ganboard.worker.process import machine
from tests.stores import names

MakeRun = Callable[..., Run]


def kept(context: Context) -> Store:
    found = open_store(context.settings)
    assert found is not None
    return found


def logged(context: Context, run: Run, text: str) -> Path:
    path = context.settings.log_path(run.id)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(text)
    return path


def name(context: Context) -> str:
    return machine.name(context.settings)


def read(context: Context, run: Run) -> dict[str, str]:
    """What each machine has logged, newest first."""
    return {one.machine: one.path.read_text() for one in run_logs.parts(context, run.id)}


def test_a_log_is_read_on_another_machine_as_it_was_stored_last(
    here: Context, other: Context, make_run: MakeRun
) -> None:
    run = make_run()
    assert run_logs.parts(here, run.id) == []
    run_logs.upload(here, kept(here), run.id)  # there is none
    logged(here, run, "--- attempt 1 ---\n")
    run_logs.upload(here, kept(here), run.id)
    assert read(other, run) == {name(here): "--- attempt 1 ---\n"}
    logged(here, run, "more\n")
    assert read(other, run) == {name(here): "--- attempt 1 ---\n"}
    run_logs.upload(here, kept(here), run.id)
    assert read(other, run) == {name(here): "--- attempt 1 ---\nmore\n"}
    kept(here).remove("runs")
    assert read(other, run) == {name(here): "--- attempt 1 ---\nmore\n"}  # not asked for again
    poor = replace(other, settings=other.settings.model_copy(update={"store": ""}))
    assert run_logs.parts(poor, run.id) == []


def test_the_machine_that_wrote_last_comes_first(
    here: Context, other: Context, make_run: MakeRun, tmp_path: Path
) -> None:
    run = make_run()
    logged(here, run, "first\n")
    run_logs.upload(here, kept(here), run.id)
    logged(other, run, "second\n")
    assert name(other) != name(here)
    assert list(read(other, run)) == [name(other), name(here)]
    run_logs.upload(other, kept(other), run.id)
    for context in (here, other):
        assert list(read(context, run)) == [name(other), name(here)]
    export.export(other, run, tmp_path / "export")
    assert (tmp_path / "export" / "train.log").read_text() == (
        f"=== machine {name(here)} ===\nfirst\n=== machine {name(other)} ===\nsecond\n"
    )
    logged(here, run, "third\n")  # the run came back
    assert list(read(here, run)) == [name(here), name(other)]


def test_a_log_that_is_nowhere_is_said_to_be_on_its_machine(
    here: Context, other: Context, make_run: MakeRun
) -> None:
    run = make_run(status="running")
    assert placement.log_absence(other, run) is None  # nothing is known
    checkpoint_reports.add_checkpoint(
        here.engine, run_id=run.id, attempt=1, step=12, epoch=3, digest="d", size=5, keep=1,
        machine=name(here),
    )  # fmt: skip
    assert placement.log_absence(here, run) is None
    assert placement.log_absence(other, run) == (
        f"The log of run {run.id} is on machine {name(here)}. Read it there."
    )


def test_a_home_that_only_reads_is_closed_to_others(here: Context, tmp_path: Path) -> None:
    settings = here.settings.model_copy(
        update={"home": tmp_path / "reader", "database_url": here.settings.database}
    )
    opened = open_context(settings, create=False)
    assert stat.S_IMODE(opened.settings.state.stat().st_mode) == 0o700


def test_what_a_log_has_grown_since_it_was_listed_is_left_out(
    here: Context, other: Context, make_run: MakeRun, tmp_path: Path
) -> None:
    run = make_run()
    logged(here, run, "listed\n")
    run_logs.upload(here, kept(here), run.id)
    key = f"runs/{run.id}/logs/{name(here)}.log"
    (tmp_path / "log").write_text("listed\nand more\n")
    kept(here).put(tmp_path / "log", key)
    assert read(other, run) == {name(here): "listed\n"}
    (other.settings.run_dir(run.id) / "logs" / f"{name(here)}.log").unlink()
    (tmp_path / "log").write_text("another\n")
    kept(here).put(tmp_path / "log", key)
    with pytest.raises(StoreError, match="is damaged in the store"):
        run_logs.parts(other, run.id)
    assert list((other.settings.run_dir(run.id) / "logs").iterdir()) == []


def test_a_log_is_stored_once_it_stands_still(
    here: Context, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, watch, clock = make_run(), run_logs.Watch(), [0.0]
    monkeypatch.setattr(run_logs.time, "monotonic", lambda: clock[0])  # type: ignore[attr-defined]

    def stored_after(seconds: float) -> int | None:
        clock[0] += seconds
        watch.round(here, kept(here))
        return artifacts.log_sizes(here.engine, name(here)).get(run.id)

    logged(here, run, "12345")
    assert [stored_after(seconds) for seconds in (0, 9, 2)] == [None, None, 5]
    logged(here, run, "678")
    assert stored_after(100) == 5
    logged(here, run, "9")  # it goes on growing
    assert [stored_after(seconds) for seconds in (9, 9, 2)] == [5, 5, 9]


def test_the_uploader_stores_logs_too(
    here: Context, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run()
    logged(here, run, "a line\n")
    monkeypatch.setattr(run_logs, "QUIET_SECONDS", 0.0)
    pauses = iter((None, KeyboardInterrupt))

    def sleep(seconds: float) -> None:
        if (end := next(pauses)) is not None:
            raise end

    monkeypatch.setattr(uploader.time, "sleep", sleep)  # type: ignore[attr-defined]
    with pytest.raises(KeyboardInterrupt):
        uploader._work(here, kept(here))
    assert list(artifacts.logs(here.engine, run.id)) == [name(here)]


def test_only_plain_logs_of_runs_that_exist_are_stored(
    here: Context, make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_logs, "QUIET_SECONDS", 0.0)
    linked, gone = make_run(), make_run("gone", status="finished")
    (tmp_path / "secret").write_text("secret")
    path = here.settings.log_path(linked.id)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(tmp_path / "secret")
    commands.delete_run(here.engine, run_id=gone.id)
    logged(here, gone, "of no run")
    watch = run_logs.Watch()
    for _ in range(3):
        watch.round(here, kept(here))
    run_logs.upload(here, kept(here), linked.id)
    assert names(kept(here), "runs") == []
    assert run_logs.own(here, linked.id) is None
