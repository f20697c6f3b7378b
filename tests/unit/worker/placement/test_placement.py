"""worker.placement: two homes with one database, and which of them may start a run."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ganboard.db import heartbeats
from ganboard.db.models import Run
from ganboard.db.placement import backlog, draining
from ganboard.db.runs import checkpoint_reports, commands, holders, queries
from ganboard.db.settings import Settings, SettingsError
from ganboard.gan.checkpoint import store
from ganboard.gan.needs import Offer
from ganboard.gan.progress import Progress
from ganboard.worker import placement
from ganboard.worker.context import Context
from ganboard.worker.placement import choice, waiting
from ganboard.worker.process import machine
from tests.factories import HARDWARE

MakeRun = Callable[..., Run]
WAIT = 100.0


@pytest.fixture
def other(context: Context, tmp_path: Path) -> Context:
    """Another machine with the same database."""
    settings = Settings(home=tmp_path / "other", machine_wait=f"{WAIT:.0f}")
    settings.prepare_home()
    return Context(settings, context.engine)


def alive(context: Context) -> str:
    """Let a worker of this machine give a heartbeat; returns the machine's name."""
    name = machine.name(context.settings)
    heartbeats.record(
        context.engine, name=f"{name}:1", host="box", pid=1, run_id=None, machine=name
    )
    return name


def suspended(context: Context, step: int = 12, **row: Any) -> Run:
    """A waiting run whose only checkpoint is on the disk of `context`, listed as there."""
    run = commands.create_run(context.engine, name="a run", config={"batch_size": 8, "epochs": 9})
    own = {"run_id": run.id, "attempt": 1}
    assert commands.claim(context.engine, run_id=run.id, worker="before")
    folder = context.settings.run_dir(run.id) / "checkpoints"
    saved = store.save(
        folder, {"g/0": np.ones(9, np.float32)}, Progress(step, 3), digest="d", attempt=1
    )
    listed = {"machine": machine.name(context.settings), **row}
    checkpoint_reports.add_checkpoint(context.engine, **own, **vars(saved), keep=3, **listed)
    commands.finish(context.engine, **own, status="suspended")
    return run


def ready(context: Context) -> list[str]:
    """The run that may start here next, if any, once what waits for a machine was looked after."""
    placement.tend(context, backlog.waiting_runs(context.engine))
    run = placement.next_run(context, Offer())
    return [run.id] if run else []


def now(context: Context, run: Run) -> Run:
    found = queries.get_run(context.engine, run.id)
    assert found is not None
    return found


def warnings(context: Context, run: Run) -> list[str]:
    return [
        event.text for event in queries.events(context.engine, run.id, levels=("warning", "error"))
    ][::-1]


def test_a_run_without_checkpoints_is_everybodys(
    context: Context, other: Context, make_run: MakeRun
) -> None:
    run = make_run(status="queued")
    assert ready(context) == ready(other) == [run.id]
    assert placement.claim(other, run.id, "w") is not None


def test_a_run_is_claimed_only_where_its_checkpoint_is(context: Context, other: Context) -> None:
    run = suspended(context)
    assert placement.claim(other, run.id, "w") is None
    assert now(context, run).attempt == 1
    taken = placement.claim(context, run.id, "w")
    assert taken is not None
    assert taken.attempt == 2
    assert placement.claim(context, "unknown", "w") is None


def test_a_run_is_left_to_its_machine_while_that_is_alive(context: Context, other: Context) -> None:
    run = suspended(context)
    name = alive(context)
    alive(other)
    assert ready(other) == []
    assert placement.tend(context, [run]) == []
    assert ready(context) == [run.id]
    awaited = holders.awaited(context.engine, now(context, run), WAIT)
    assert awaited == holders.Awaited(
        f"Waiting for a free worker of machine {name}, which has the checkpoint of step 12", None
    )
    assert now(context, run).phase is None


def test_a_single_machine_enqueues_its_own_runs_like_all_others(context: Context) -> None:
    run = suspended(context)
    alive(context)
    assert placement.tend(context, [run]) == [run]


def test_a_machine_that_is_away_is_waited_for_then_the_run_ends_and_asks(
    context: Context, other: Context
) -> None:
    run, name = suspended(context), machine.name(context.settings)
    for _ in range(3):
        assert ready(other) == []
    assert now(context, run).phase == holders.AWAITING
    awaited = holders.awaited(context.engine, now(context, run), WAIT)
    assert awaited is not None
    assert awaited.reason == f"Waiting for machine {name}, which has the checkpoint of step 12"
    assert awaited.seconds_left is not None
    assert 0 < awaited.seconds_left <= WAIT
    assert warnings(context, run) == [
        f"Waiting up to 100 s for machine {name}, which has the checkpoint of step 12."
    ]

    impatient = Context(Settings(home=other.settings.state, machine_wait="0"), other.engine)
    assert ready(impatient) == []
    ended = now(context, run)
    assert (ended.status, ended.phase, ended.attempt, ended.failures) == ("failed", None, 1, 0)
    assert (
        ended.error
        == f"The checkpoint of step 12 is on machine {name}, which was unavailable for 0 s. Start"
        " a worker there and resume, clone the run to train it again, or give up its"
        f" checkpoints: `ganboard resume {run.id} --without {name}`."
    )
    assert [one.machine for one in queries.checkpoints(context.engine, run.id)] == [name]
    commands.resume(context.engine, run_id=run.id)
    assert ready(other) == []
    assert ready(context) == [run.id]


def test_the_time_begins_anew_when_the_machine_was_back(context: Context, other: Context) -> None:
    run = suspended(context)
    ready(other)
    alive(context)
    ready(other)
    assert now(context, run).phase is None


def test_files_that_can_be_read_count_whatever_the_machine_is_called(
    context: Context, other: Context
) -> None:
    """A HOME that was moved or restored has a name of its own."""
    run = suspended(context)
    shutil.copytree(context.settings.run_dir(run.id), other.settings.run_dir(run.id))
    assert ready(other) == [run.id]
    assert [one.machine for one in queries.checkpoints(context.engine, run.id)] == [
        machine.name(other.settings)
    ]
    assert placement.claim(other, run.id, "w") is not None


@pytest.mark.parametrize("harm", ["older", "damaged", "no manifest"])
def test_a_copy_that_is_old_or_damaged_does_not_count(
    context: Context, other: Context, harm: str
) -> None:
    run = suspended(context)
    there = other.settings.run_dir(run.id) / "checkpoints"
    shutil.copytree(context.settings.run_dir(run.id) / "checkpoints", there)
    match harm:
        case "older":
            (there / "ckpt-12-1").rename(there / "ckpt-8-1")
        case "damaged":
            (there / "ckpt-12-1" / "state.npz").write_bytes(b"torn")
        case _:
            (there / "ckpt-12-1" / "manifest.json").unlink()
    assert ready(other) == []
    assert placement.claim(other, run.id, "w") is None
    assert ready(context) == [run.id]


def test_what_was_lost_on_the_machine_that_had_it_is_its_own_loss(
    context: Context, other: Context
) -> None:
    run = suspended(context)
    shutil.rmtree(context.settings.run_dir(run.id))
    assert ready(other) == []
    assert ready(context) == [run.id]
    assert placement.claim(context, run.id, "w") is not None
    name = machine.name(context.settings)
    checkpoint_reports.list_checkpoints(
        context.engine, run_id=run.id, attempt=2, found=[], machine=name
    )
    assert (
        warnings(context, run)[-1]
        == f"Lost on machine {name} and no longer listed: the checkpoint of step 12."
    )


def test_checkpoints_of_older_versions_belong_to_who_trained_the_run(
    context: Context, other: Context
) -> None:
    run = suspended(context, machine=None)
    (context.settings.run_dir(run.id) / "checkpoints" / "ckpt-12-1").rename(
        context.settings.state / "moved away"
    )
    assert ready(other) == []
    assert "an unknown machine" in warnings(context, run)[0]
    assert ready(context) == [run.id]


def test_a_claim_is_refused_when_the_run_changed_hands_meanwhile(context: Context) -> None:
    run = suspended(context)
    assert commands.claim(context.engine, run_id=run.id, worker="w", after=0) is None
    assert commands.claim(context.engine, run_id=run.id, worker="w", after=1) is not None


@pytest.mark.parametrize("text", ["-1", "1.5", "soon", "1000000", "٣"])
def test_the_time_to_wait_is_a_number_of_seconds(tmp_path: Path, text: str) -> None:
    with pytest.raises(
        SettingsError,
        match=r"^GANBOARD_MACHINE_WAIT=.* is not a number of seconds from 0 to 999999. Unset it",
    ):
        Settings(home=tmp_path, machine_wait=text).prepare_home()


def worker(context: Context, name: str, **row: Any) -> None:
    """A live worker of another machine, of which nothing but its heartbeat exists."""
    usual = {"host": name, "pid": 1, "run_id": None, "machine": name}
    heartbeats.record(context.engine, name=f"{name}:1", **{**usual, **row})


def queued(make_run: MakeRun, name: str = "a run", **config: Any) -> Run:
    return make_run(name, status="queued", **config)


def chosen(context: Context, here: Offer = Offer(), **which: Any) -> str | None:
    run = placement.next_run(context, here, **which)
    return run.name if run else None


def reason(context: Context, run: Run) -> str | None:
    awaited = waiting.reasons(context, [now(context, run)]).get(run.id)
    return awaited.reason if awaited else None


def test_a_run_waits_for_a_machine_that_has_what_it_needs(
    context: Context, make_run: MakeRun
) -> None:
    run = queued(make_run, needs="lab3, cores>=8")
    two, eight = {**HARDWARE, "cores": 2}, {**HARDWARE, "cores": 8}
    worker(context, "small", devices=two, labels=["lab3"])
    assert chosen(context, Offer(["lab3"], "small", two)) is None
    assert chosen(context, Offer((), "big", eight)) is None
    assert reason(context, run) == "No machine has what it needs: cores>=8"
    worker(context, "big", devices=eight, labels=["lab3"])
    assert reason(context, run) is None
    assert chosen(context, Offer(["lab3"], "big", eight)) == "a run"


def test_a_machine_that_it_prefers_goes_first_while_that_is_free(
    context: Context, make_run: MakeRun
) -> None:
    queued(make_run, prefers="fast")
    assert chosen(context) == "a run"  # no machine is fast
    worker(context, "racer", labels=["fast"])
    assert chosen(context) is None
    assert chosen(context, Offer(["fast"])) == "a run"
    worker(context, "racer", labels=["fast"], run_id="another")
    assert chosen(context) == "a run"
    worker(context, "racer", labels=["fast"])
    draining.drain(context.engine, "racer")
    assert chosen(context) == "a run"


def test_what_this_machine_cannot_run_is_left_to_one_that_can(
    context: Context, make_run: MakeRun
) -> None:
    none, one = {"gpus": [], "tpus": []}, {"gpus": [{"name": "A100"}], "tpus": []}
    queued(make_run, precision="mixed_float16")
    assert chosen(context, Offer(devices=none)) == "a run"  # to fail with a sentence
    worker(context, "box", devices=one)
    assert chosen(context, Offer(devices=none)) is None
    assert chosen(context, Offer(devices=one)) == "a run"


def test_a_drained_machine_takes_nothing(context: Context, make_run: MakeRun) -> None:
    run, name = queued(make_run), alive(context)
    draining.drain(context.engine, name)
    draining.drain(context.engine, name)
    assert chosen(context) is None
    assert reason(context, run) == waiting.DRAINED
    worker(context, "another")
    assert reason(context, run) is None
    assert draining.undrain(context.engine, name)
    assert not draining.undrain(context.engine, name)
    assert chosen(context) == "a run"


def test_a_notified_run_goes_first_of_those_that_are_about_to_start(
    context: Context, make_run: MakeRun
) -> None:
    queued(make_run, "first")
    second, third = queued(make_run, "second"), queued(make_run, "third", needs="lab3")
    queued(make_run, "fourth")
    assert {chosen(context, notified=second.id) for _ in range(9)} == {"first"}  # one worker
    for name in ("one", "two"):
        worker(context, name)
    assert chosen(context, notified=second.id) == "second"
    assert {chosen(context) for _ in range(99)} == {"first", "second"}
    assert chosen(context, notified=third.id) in ("first", "second")  # it cannot run here
    worker(context, "two", run_id="another")
    assert {chosen(context, notified=second.id) for _ in range(9)} == {"first"}
    worker(context, "two")
    urgent = queued(make_run, "urgent")
    backlog.set_priority(context.engine, run_id=urgent.id, priority=1)
    assert chosen(context, notified=second.id) == "urgent"
    assert chosen(context, for_seconds=60) is None


def test_what_fits_is_found_behind_any_number_of_others(
    context: Context, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choice, "PAGE", 2)
    for number in range(5):
        queued(make_run, f"run {number}", needs="elsewhere")
    assert chosen(context) is None
    queued(make_run, "last")
    assert chosen(context) == "last"


def test_labels_come_from_the_environment(tmp_path: Path) -> None:
    assert placement.labels(Settings(home=tmp_path, labels="lab3, fast")) == ("lab3", "fast")
    with pytest.raises(SettingsError, match=r"^GANBOARD_LABELS cannot be used: 'a b' is no label"):
        placement.labels(Settings(home=tmp_path, labels="a b"))
