"""The state machine: every command in every state, and the words with which it is refused."""

from __future__ import annotations

import numpy as np
import pytest
from sqlalchemy import Engine
from sqlmodel import SQLModel

from ganboard.db import requests, studies
from ganboard.db.alerts import channels, deliveries, rules
from ganboard.db.curves import usage
from ganboard.db.engine import writing
from ganboard.db.errors import NotAllowed, UnknownRun
from ganboard.db.models import (
    ACTIVE,
    ENDED,
    STATUSES,
    WAITING,
    LoggedHistogram,
    LoggedValues,
    SchedulerJob,
    Study,
    UsageSample,
    utc_now,
)
from ganboard.db.placement import groups
from ganboard.db.placement.groups import Place
from ganboard.db.runs import annotations as run_annotations
from ganboard.db.runs import commands, queries, reports
from tests.unit.db.stored_runs import (
    checkpoint,
    claimed,
    contents,
    finish_epoch,
    in_status,
    quality,
    sample,
    steps,
    stored,
    submitted,
    texts,
    training,
)


def test_a_new_run_is_queued_and_says_so(engine: Engine) -> None:
    run = commands.create_run(
        engine, name="first", config={"seed": 1}, preset="tiny", parent_id="bbbbbbbbbb"
    )
    assert stored(engine, run.id).model_dump() == run.model_dump()
    assert (run.status, run.attempt, run.failures, run.step, run.seconds) == (
        "queued",
        0,
        0,
        0,
        0.0,
    )
    assert (run.name, run.config, run.preset, run.parent_id) == (
        "first",
        {"seed": 1},
        "tiny",
        "bbbbbbbbbb",
    )
    assert texts(engine, run.id) == ["Cloned from bbbbbbbbbb."]


def test_a_run_from_submission_to_its_end(engine: Engine) -> None:
    run_id = submitted(engine)
    claim = commands.claim(engine, run_id=run_id, worker="w-1")
    assert claim == commands.Claim(run_id, 1, {"batch_size": 64})
    run = stored(engine, run_id)
    assert (run.status, run.worker, run.phase, run.attempt) == ("starting", "w-1", "starting", 1)
    assert run.started_at is not None
    assert run.lease_until is not None
    assert 59 < (run.lease_until - run.started_at).total_seconds() < 61

    own = {"run_id": run_id, "attempt": 1}
    reports.set_phase(engine, **own, phase="loading")
    assert (stored(engine, run_id).status, stored(engine, run_id).phase) == ("starting", "loading")
    reports.set_phase(engine, **own, phase="compiling")
    assert (stored(engine, run_id).status, stored(engine, run_id).phase) == ("running", "compiling")
    reports.set_phase(engine, **own, phase="training")
    assert (stored(engine, run_id).status, stored(engine, run_id).phase) == ("running", "training")
    assert commands.renew(engine, **own, lease_seconds=200) is False
    renewed = stored(engine, run_id).lease_until
    assert renewed is not None
    assert (renewed - run.lease_until).total_seconds() > 80

    assert commands.finish(engine, **own, status="finished") == "finished"
    run = stored(engine, run_id)
    assert (run.status, run.worker, run.lease_until, run.phase, run.error) == (
        "finished",
        None,
        None,
        None,
        None,
    )
    assert run.started_at is not None
    assert run.ended_at is not None
    assert run.ended_at >= run.started_at
    assert texts(engine, run_id) == ["Submitted.", "Attempt 1 started on w-1.", "Finished."]


@pytest.mark.parametrize("status", ["finished", "failed", "stopped", "suspended"])
def test_every_end_of_an_attempt(engine: Engine, status: str) -> None:
    own = training(engine)
    error = "The disk is full." if status == "failed" else None
    assert commands.finish(engine, **own, status=status, error=error) == status
    run = stored(engine, own["run_id"])
    assert (run.status, run.error, run.lease_until, run.worker) == (status, error, None, None)
    assert (run.ended_at is None) is (status == "suspended")
    newest, *_ = queries.events(engine, own["run_id"])
    assert (newest.level, newest.attempt) == ("error" if status == "failed" else "info", 1)
    assert newest.text == error if error else status.capitalize() in newest.text


def test_an_unknown_end_changes_nothing(engine: Engine) -> None:
    own = training(engine)
    before = contents(engine)
    with pytest.raises(KeyError):
        commands.finish(engine, **own, status="queued")
    assert contents(engine) == before


@pytest.mark.parametrize("status", STATUSES)
def test_who_may_be_claimed(engine: Engine, status: str) -> None:
    run_id = in_status(engine, status)
    attempt = stored(engine, run_id).attempt
    claim = commands.claim(engine, run_id=run_id, worker="w-2")
    if status in WAITING:
        assert claim is not None
        assert claim.attempt == attempt + 1
        assert stored(engine, run_id).worker == "w-2"
    else:
        assert claim is None
        assert stored(engine, run_id).attempt == attempt


def test_nobody_claims_a_run_that_does_not_exist(engine: Engine) -> None:
    assert commands.claim(engine, run_id="nobody", worker="w") is None


@pytest.mark.parametrize("status", STATUSES)
def test_stopping(engine: Engine, status: str) -> None:
    run_id = in_status(engine, status)
    if status in ENDED:
        before = contents(engine)
        with pytest.raises(NotAllowed, match=f"^Run {run_id} is already {status}\\.$"):
            commands.request_stop(engine, run_id=run_id)
        assert contents(engine) == before
    elif status in WAITING:
        assert commands.request_stop(engine, run_id=run_id) == "stopped"
        assert stored(engine, run_id).ended_at is not None
        assert commands.claim(engine, run_id=run_id, worker="w") is None
    else:
        assert commands.request_stop(engine, run_id=run_id) == status
        assert commands.renew(engine, run_id=run_id, attempt=1) is True


def test_a_second_request_to_stop_adds_nothing(engine: Engine) -> None:
    run_id = in_status(engine, "running")
    commands.request_stop(engine, run_id=run_id)
    before = contents(engine)
    assert commands.request_stop(engine, run_id=run_id) == "running"
    assert contents(engine) == before


def test_a_run_suspended_after_its_stop_was_requested_is_stopped(engine: Engine) -> None:
    own = training(engine)
    commands.request_stop(engine, run_id=own["run_id"])
    assert commands.finish(engine, **own, status="suspended") == "stopped"
    assert stored(engine, own["run_id"]).ended_at is not None
    assert texts(engine, own["run_id"])[-1] == "Stopped."


@pytest.mark.parametrize("status", STATUSES)
def test_resuming(engine: Engine, status: str) -> None:
    run_id = in_status(engine, status)
    if status in ("stopped", "failed"):
        before = stored(engine, run_id)
        run = commands.resume(engine, run_id=run_id)
        assert run.model_dump() == stored(engine, run_id).model_dump()
        assert (run.status, run.error, run.ended_at, run.stop_requested_at, run.failures) == (
            "queued",
            None,
            None,
            None,
            0,
        )
        assert run.queued_at >= before.queued_at
        assert run.attempt == before.attempt
        assert commands.claim(engine, run_id=run_id, worker="w") is not None
    else:
        before_all = contents(engine)
        remedy = (
            "clone it to train it again" if status == "finished" else "it resumes automatically"
        )
        with pytest.raises(
            NotAllowed,
            match=(
                f"^Run {run_id} is {status}. Only stopped and failed runs can be resumed;"
                f" {remedy}.$"
            ),
        ):
            commands.resume(engine, run_id=run_id)
        assert contents(engine) == before_all


@pytest.mark.parametrize("status", STATUSES)
def test_deleting(engine: Engine, status: str) -> None:
    run_id = in_status(engine, status)
    if status in ACTIVE:
        with pytest.raises(
            NotAllowed, match=rf"^Run {run_id} is {status}\. Stop it before deleting it\.$"
        ):
            commands.delete_run(engine, run_id=run_id)
        assert queries.get_run(engine, run_id) is not None
    else:
        commands.delete_run(engine, run_id=run_id)
        assert queries.get_run(engine, run_id) is None


def test_deleting_takes_every_row_of_that_run_and_no_other(engine: Engine) -> None:
    doomed, kept = training(engine), training(engine)
    values = {"name": "lab", "kind": "slack", "masked": "m", "options": {}, "secret": "s"}
    channel = channels.add(engine, **values)  # type: ignore[arg-type]
    rule = rules.add(engine, channel_id=channel.id, event=rules.FINISHED)
    for own in (doomed, kept):
        found = deliveries.Found(rule, own["run_id"], "once", {})
        deliveries.record(engine, [found], rule_ids=[rule.id], seen=0)
        steps(engine, own, 1, 0, [0.1, 0.2], g_rate=[1e-4, 1e-4])
        finish_epoch(engine, own, 1)
        quality(engine, own, 1)
        reports.add_grid(engine, **own, epoch=1, rows=1, columns=1, png=b"png")
        checkpoint(engine, own, 4)
        reports.add_sample(engine, sample(own))
        used = UsageSample(
            run_id=own["run_id"], at=utc_now(), name="Rank 0", attempt=own["attempt"]
        )
        usage.add(engine, [used])
        one = np.ones(1)
        with writing(engine) as session:
            logged = {"name": "loss", "block": 0, "steps": one, "times": one, "values": one}
            session.add(LoggedValues(run_id=own["run_id"], **logged))
            spread = {"name": "w", "step": 1, "time": 1.0, "edges": np.ones(2), "counts": one}
            session.add(LoggedHistogram(run_id=own["run_id"], **spread))
            place = Place(f"worker of {own['run_id']}", "box-1", "box", "10.0.0.1")
            groups.assemble(session, own["run_id"], own["attempt"], [place])
            session.add(SchedulerJob(run_id=own["run_id"], scheduler="slurm"))
        run_annotations.add_tags(engine, run_ids=[own["run_id"]], tags=["a tag"])
        requests.ask(engine, requests.SURFACE, [own["run_id"]], {})
        study = Study(name="s", title="S", definition={})
        studies.store(engine, study, counted={"part": [own["run_id"]]}, missing=[])
        commands.finish(engine, **own, status="finished")
    rows = contents(engine)
    # what names a run and does not go with it
    remaining = ("worker", "model_version", "claim_run", "search_trial", "artifact")
    below_a_run = [
        table.name
        for table in SQLModel.metadata.sorted_tables
        if "run_id" in table.columns and table.name not in remaining
    ]
    assert {
        name: sum(doomed["run_id"] in row for row in rows[name]) > 0 for name in below_a_run
    } == dict.fromkeys(below_a_run, True)
    commands.delete_run(engine, run_id=doomed["run_id"])
    assert contents(engine) == {
        name: [row for row in found if doomed["run_id"] not in row] for name, found in rows.items()
    }


@pytest.mark.parametrize("command", [commands.request_stop, commands.resume, commands.delete_run])
def test_what_does_not_exist_is_named(engine: Engine, command: object) -> None:
    assert callable(command)
    with pytest.raises(
        UnknownRun, match=r"^There is no run 'nobody': `ganboard runs` lists them.$"
    ):
        command(engine, run_id="nobody")


def test_the_first_start_is_remembered_over_attempts(engine: Engine) -> None:
    own = training(engine)
    first = stored(engine, own["run_id"]).started_at
    commands.finish(engine, **own, status="suspended")
    claimed(engine, own["run_id"])
    assert stored(engine, own["run_id"]).started_at == first
