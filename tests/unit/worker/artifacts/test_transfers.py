"""worker.artifacts.transfers and its uploader: two homes with one database and one store."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ganboard.db import heartbeats
from ganboard.db.models import Run
from ganboard.db.placement import artifacts, backlog, draining
from ganboard.db.runs import checkpoint_reports, commands, queries, trash
from ganboard.db.settings import Settings
from ganboard.gan.checkpoint import reader, snapshots, store
from ganboard.gan.needs import Offer
from ganboard.gan.progress import Progress
from ganboard.worker import placement
from ganboard.worker.artifacts import transfers, uploader
from ganboard.worker.artifacts.store import Store, StoreError, open_store
from ganboard.worker.context import Context
from ganboard.worker.process import machine
from tests.stores import names

MakeRun = Callable[..., Run]


def patient(context: Context, seconds: str) -> Settings:
    """Its settings with another time to wait for machines."""
    state, store_url = context.settings.state, context.settings.store
    return Settings(home=state, store=store_url, machine_wait=seconds)


def kept(context: Context) -> Store:
    found = open_store(context.settings)
    assert found is not None
    return found


def begun(context: Context, **config: Any) -> Run:
    settings = {"batch_size": 8, "epochs": 99, "keep_checkpoints": 2, **config}
    run = commands.create_run(context.engine, name="a run", config=settings)
    assert commands.claim(context.engine, run_id=run.id, worker="before")
    return run


def saved(context: Context, run: Run, step: int, attempt: int = 1) -> None:
    """A checkpoint on the disk of `context`, listed."""
    directory = context.settings.run_dir(run.id) / "checkpoints"
    array = np.full(9, step, np.float32)
    written = store.save(directory, {"g/0": array}, Progress(step, 3), digest="d", attempt=attempt)
    checkpoint_reports.add_checkpoint(
        context.engine,
        run_id=run.id,
        attempt=attempt,
        keep=2,
        machine=machine.name(context.settings),
        **vars(written),
    )
    store.prune(directory, 2)


def uploaded(context: Context, refused: dict[uploader.Place, float] | None = None) -> int:
    return uploader.upload_round(context, kept(context), {} if refused is None else refused)


def steps(context: Context, run: Run) -> list[int]:
    """Of the checkpoints that the store has, by the database and by itself."""
    listed = {name for name in artifacts.of_run(context.engine, run.id) if "ckpt" in name}
    there = names(kept(context), f"runs/{run.id}/checkpoints")
    assert listed == {f"checkpoints/{name}" for name in there}
    return sorted(int(name.split("-")[1]) for name in there)


def waiting(context: Context, run: Run) -> None:
    commands.finish(context.engine, run_id=run.id, attempt=1, status="suspended")


def events(context: Context, run: Run) -> list[str]:
    return [event.text for event in queries.events(context.engine, run.id)][::-1]


def test_a_run_goes_on_elsewhere_from_what_was_stored(here: Context, other: Context) -> None:
    run = begun(here)
    saved(here, run, 12)
    assert uploaded(here) == 1
    assert uploaded(here) == 0
    assert uploaded(other) == 0  # not its own
    waiting(here, run)
    assert [one.id for one in placement.tend(other, backlog.waiting_runs(other.engine))] == [run.id]
    found = placement.next_run(other, Offer())
    assert found is not None
    claim = placement.claim(other, found.id, "w")
    assert claim is not None
    assert claim.attempt == 2
    directory = other.settings.run_dir(run.id) / "checkpoints"
    assert reader.newest_arrays(directory)["g/0"].tolist() == [12.0] * 9
    assert events(here, run)[-1] == "Fetched the checkpoint of step 12 from the artifact store."


def test_a_machine_without_the_store_leaves_it_alone(here: Context, other: Context) -> None:
    run = begun(here)
    saved(here, run, 12)
    uploaded(here)
    waiting(here, run)
    poor = replace(other, settings=other.settings.model_copy(update={"store": ""}))
    assert placement.next_run(poor, Offer()) is None
    assert placement.claim(poor, run.id, "w") is None


def test_the_newest_goes_first_and_as_many_are_kept_as_on_disk(here: Context) -> None:
    run = begun(here)
    for step in (4, 8, 12):
        saved(here, run, step)
    assert uploaded(here) == 1
    assert steps(here, run) == [12]
    for step in (16, 20):
        saved(here, run, step)
        assert uploaded(here) == 1
    assert steps(here, run) == [16, 20]


def test_the_last_that_was_stored_serves_when_a_machine_stays_away(
    here: Context, other: Context
) -> None:
    run = begun(here)
    saved(here, run, 12)
    uploaded(here)
    saved(here, run, 16)  # and the machine was lost
    waiting(here, run)

    def look(context: Context) -> list[str]:
        placement.tend(context, backlog.waiting_runs(context.engine))
        found = placement.next_run(context, Offer())
        return [found.id] if found else []

    assert look(other) == []
    assert placement.claim(other, run.id, "w") is None
    assert "Waiting up to 300 s" in events(here, run)[-1]
    hasty = replace(other, settings=patient(other, "0"))
    look(hasty)
    assert look(hasty) == [run.id]
    assert events(here, run)[-1].endswith(
        "was unavailable for 0 s: going on from the checkpoint of step 12 in the artifact store"
        " instead of step 16."
    )
    assert placement.claim(hasty, run.id, "w") is not None
    assert reader.newest_arrays(other.settings.run_dir(run.id) / "checkpoints")["g/0"][0] == 12


def test_a_live_machine_keeps_its_runs(here: Context, other: Context) -> None:
    run = begun(here)
    saved(here, run, 12)
    uploaded(here)
    waiting(here, run)
    name = machine.name(here.settings)
    row = {"host": "box", "pid": 1, "run_id": None, "machine": name}
    heartbeats.record(here.engine, name=f"{name}:1", **row)
    assert placement.next_run(other, Offer()) is None
    draining.drain(here.engine, name)
    assert placement.next_run(other, Offer()) is not None


@pytest.mark.parametrize("harm", ["torn", "replaced", "gone"])
def test_what_the_store_has_damaged_is_never_used(
    here: Context, other: Context, harm: str, tmp_path: Path
) -> None:
    run = begun(here)
    saved(here, run, 12)
    uploaded(here)
    waiting(here, run)
    key = f"runs/{run.id}/checkpoints/ckpt-12-1"
    path = tmp_path / "harm"
    path.write_bytes(b"PK")
    if harm == "torn":
        kept(here).put(path, f"{key}/state.npz")
    elif harm == "replaced":
        kept(here).put(path, f"{key}/manifest.json")
    else:
        kept(here).remove(f"{key}/state.npz")
    [stored] = [one for one in artifacts.of_run(here.engine, run.id).values() if one.step]
    with pytest.raises(
        StoreError, match=r"checkpoint of step 12|ckpt-12-1/state.npz is not in the store"
    ):
        transfers.fetch(other.settings, kept(other), stored)
    assert placement.claim(other, run.id, "w") is None
    assert reader.complete(other.settings.run_dir(run.id) / "checkpoints") == []
    found = queries.get_run(here.engine, run.id)
    assert found is not None
    assert (found.status, found.attempt) == ("suspended", 1)


@pytest.mark.parametrize("harm", ["torn state", "no manifest", "manifest is a link", "taken"])
def test_what_cannot_be_stored_is_logged_once_and_stops_no_other(
    here: Context, harm: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run, other = begun(here), begun(here)
    saved(here, run, 12)
    saved(here, other, 8)
    checkpoint = here.settings.run_dir(run.id) / "checkpoints" / "ckpt-12-1"
    match harm:
        case "torn state":
            (checkpoint / "state.npz").write_bytes(b"torn")
        case "no manifest":
            (checkpoint / "manifest.json").write_bytes(b"")
        case "manifest is a link":
            (checkpoint / "manifest.json").rename(tmp_path / "manifest.json")
            (checkpoint / "manifest.json").symlink_to(tmp_path / "manifest.json")
        case _:
            (tmp_path / "theirs").write_bytes(b"another program's")
            place = f"runs/{run.id}/checkpoints/ckpt-12-1/manifest.json"
            kept(here).put(tmp_path / "theirs", place)
    refused: dict[uploader.Place, float] = {}
    assert uploaded(here, refused) == 1
    assert uploaded(here, refused) == 0
    assert list(refused) == [(run.id, 12, 1)]
    assert sum(record.levelname == "WARNING" for record in caplog.records) == 1
    assert artifacts.of_run(here.engine, run.id) == {}
    assert steps(here, other) == [8]


def test_a_checkpoint_that_was_pruned_meanwhile_is_passed_over(here: Context) -> None:
    run = begun(here)
    saved(here, run, 12)
    shutil.rmtree(here.settings.run_dir(run.id) / "checkpoints")
    assert uploaded(here) == 0
    assert steps(here, run) == []
    assert list((here.settings.state / "uploads").iterdir()) == []


def test_a_cut_between_store_and_database_is_made_good(
    here: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = begun(here)
    saved(here, run, 12)

    def cut(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(artifacts, "add", cut)
        with pytest.raises(KeyboardInterrupt):
            uploaded(here)
    assert artifacts.of_run(here.engine, run.id) == {}
    assert uploaded(here) == 1
    assert steps(here, run) == [12]


def test_snapshots_travel_too(here: Context, other: Context) -> None:
    run = begun(here)
    saved(here, run, 12)
    folder = here.settings.run_dir(run.id) / snapshots.FOLDER
    snapshots.save(folder, 3, [[np.ones(4, np.float32)], [np.ones(4, np.float32)]])
    uploaded(here)
    transfers.fetch_snapshots(other, run.id)
    assert snapshots.epochs(other.settings.run_dir(run.id) / snapshots.FOLDER) == [3]


def test_what_removed_runs_had_is_removed_from_the_store(here: Context) -> None:
    run, stays, in_trash = begun(here), begun(here), begun(here)
    for one in (run, stays, in_trash):
        saved(here, one, 12)
    assert uploaded(here) == 3
    for one in (run, in_trash):
        commands.finish(here.engine, run_id=one.id, attempt=1, status="finished")
    commands.delete_run(here.engine, run_id=run.id)
    trash.move(here.engine, run_id=in_trash.id)
    uploaded(here)
    assert names(kept(here), "runs") == sorted([stays.id, in_trash.id])
    assert artifacts.of_run(here.engine, run.id) == {}


def test_readers_fetch_what_is_not_here(here: Context, other: Context) -> None:
    run = begun(here)
    for step in (8, 12):
        saved(here, run, step)
        uploaded(here)
    directory = transfers.ensure(other, run.id, 8)
    assert [step for step, _, _ in reader.complete(directory)] == [8]
    transfers.ensure(other, run.id)
    assert [step for step, _, _ in reader.complete(directory)] == [12, 8]
    assert transfers.ensure(here, run.id) == here.settings.run_dir(run.id) / "checkpoints"


def test_a_later_attempt_at_the_same_step_is_given_up_too(here: Context, other: Context) -> None:
    run = begun(here)
    saved(here, run, 12)
    uploaded(here)
    waiting(here, run)
    assert commands.claim(here.engine, run_id=run.id, worker="again")
    saved(here, run, 12, attempt=2)
    commands.finish(here.engine, run_id=run.id, attempt=2, status="suspended")
    hasty = replace(other, settings=patient(other, "0"))
    for _ in range(3):
        placement.tend(hasty, backlog.waiting_runs(hasty.engine))
    found = placement.next_run(hasty, Offer())
    assert found is not None
    assert placement.claim(hasty, run.id, "w") is not None
