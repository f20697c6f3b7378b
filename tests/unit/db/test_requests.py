"""Requests: each is answered once, by whoever claimed it, or by the next one when that dies."""

from __future__ import annotations

import time
from typing import Any

import pytest
from sqlalchemy import Engine, update
from sqlmodel import col

from ganboard.db import clock, heartbeats, requests
from ganboard.db.engine import writing
from ganboard.db.errors import NotAllowed, UnknownRun
from ganboard.db.models import INFERENCE, Request
from ganboard.db.requests import ANALYSES, IMAGES, PREDICTION, SURFACE, Queue
from ganboard.db.runs import checkpoint_reports, commands, queries
from tests.unit.db.stored_runs import IN_FORK, in_status, submitted, training

OPTIONS = {"plane": "principal", "size": 21}
BOTH = pytest.mark.parametrize(
    ("queue", "kind"), [(IMAGES, "draw"), (ANALYSES, SURFACE)], ids=["images", "analyses"]
)


@pytest.fixture
def run(engine: Engine) -> str:
    return in_status(engine, "finished")


def ask(engine: Engine, run_id: str, kind: str = "draw", **more: Any) -> str:
    return requests.ask(engine, kind, [run_id], OPTIONS, step=4, **more)


def claimed(engine: Engine, queue: Queue, request_id: str | None = None) -> Request:
    request = requests.claim(engine, queue, request_id)
    assert request is not None
    return request


def found(engine: Engine, request_id: str) -> Request:
    request = requests.find(engine, request_id)
    assert request is not None
    return request


def shift(engine: Engine, request_id: str, **columns: float) -> None:
    """Move moments of a row so many seconds into the past."""
    with writing(engine) as session:
        values = {name: clock.now(-seconds) for name, seconds in columns.items()}
        session.execute(update(Request).where(col(Request.id) == request_id).values(values))


# --- one protocol for both queues ---


@BOTH
def test_a_request_is_asked_claimed_and_answered(
    engine: Engine, run: str, queue: Queue, kind: str
) -> None:
    request_id = ask(engine, run, kind)
    before = found(engine, request_id)
    assert (before.kind, before.step, before.options) == (kind, 4, OPTIONS)
    assert (before.claimed_at, before.answered_at, before.tries) == (None, None, 0)
    assert requests.waiting(engine, queue)
    assert not requests.waiting(engine, ANALYSES if queue is IMAGES else IMAGES)
    request = claimed(engine, queue)
    assert (request.id, request.tries) == (request_id, 1)
    assert requests.claim(engine, queue) is None
    assert requests.heartbeat(engine, request, "warming", 0.5)
    middle = found(engine, request_id)
    assert (middle.phase, middle.progress, middle.answered_at) == ("warming", 0.5, None)
    assert requests.answer(engine, request, result=b"png", facts={"columns": 4})
    done = found(engine, request_id)
    assert done.answered_at is not None
    assert (done.result, done.facts, done.error, done.progress) == (b"png", {"columns": 4}, None, 1)
    assert not requests.answer(engine, request, error="again")
    assert not requests.heartbeat(engine, request, "again", 0.9)
    assert found(engine, request_id).error is None


@BOTH
def test_the_first_asked_is_the_first_claimed(engine: Engine, queue: Queue, kind: str) -> None:
    asked = [ask(engine, in_status(engine, "finished"), kind) for _ in range(3)]
    for ago, request_id in zip((3.0, 2.0, 1.0), asked, strict=True):
        shift(engine, request_id, asked_at=ago)
    assert [claimed(engine, queue).id for _ in asked] == asked


def _claim(url: str, start: float) -> list[str]:
    from ganboard.db.engine import make_engine

    own = make_engine(url)
    time.sleep(max(0.0, start - time.monotonic()))
    taken: list[str] = []
    misses = 0
    while misses < 3:
        request = requests.claim(own, IMAGES)
        misses = misses + 1 if request is None else 0
        taken += [request.id] if request else []
    own.dispose()
    return taken


def test_processes_at_once_never_get_the_same(engine: Engine, url: str, run: str) -> None:
    asked = {ask(engine, run) for _ in range(12)}
    with IN_FORK.Pool(3) as pool:
        taken = [
            one
            for part in pool.starmap(_claim, [(url, time.monotonic() + 0.2)] * 3, chunksize=1)
            for one in part
        ]
    assert sorted(taken) == sorted(set(taken))
    assert set(taken) <= asked
    # what all of them lost to another in the same moment
    while request := requests.claim(engine, IMAGES):
        taken.append(request.id)
    assert set(taken) == asked


@BOTH
def test_a_claim_whose_process_died_is_taken_again(
    engine: Engine, run: str, queue: Queue, kind: str
) -> None:
    request_id = ask(engine, run, kind)
    first = claimed(engine, queue)
    shift(engine, request_id, heartbeat_at=requests.ABANDONED_SECONDS - 5)
    assert requests.claim(engine, queue) is None
    shift(engine, request_id, heartbeat_at=requests.ABANDONED_SECONDS + 1)
    second = claimed(engine, queue)
    assert second.tries == 2
    # it lives after all, but the request is another's now
    assert not requests.heartbeat(engine, first, "late", 0.9)
    assert not requests.answer(engine, first, result=b"late")
    assert requests.answer(engine, second, error="No memory is left.")
    assert found(engine, request_id).error == "No memory is left."


@BOTH
def test_a_heartbeat_keeps_a_claim(engine: Engine, run: str, queue: Queue, kind: str) -> None:
    request_id = ask(engine, run, kind)
    request = claimed(engine, queue)
    old = requests.ABANDONED_SECONDS + 1
    shift(engine, request_id, heartbeat_at=old)
    assert requests.heartbeat(engine, request, "computing", 0.1)
    assert requests.claim(engine, queue) is None
    assert requests.answer(engine, request, result=b"png")


@BOTH
def test_a_released_claim_counts_as_never_tried(
    engine: Engine, run: str, queue: Queue, kind: str
) -> None:
    request_id = ask(engine, run, kind)
    released = claimed(engine, queue)
    requests.heartbeat(engine, released, "computing", 0.5)
    requests.release(engine, released)
    waiting = found(engine, request_id)
    assert (waiting.claimed_at, waiting.phase, waiting.progress) == (None, "", 0.0)
    assert claimed(engine, queue).tries == 1
    assert not requests.answer(engine, released, result=b"late")


@BOTH
def test_a_deleted_run_takes_its_requests_along(
    engine: Engine, run: str, queue: Queue, kind: str
) -> None:
    request_id = ask(engine, run, kind)
    request = claimed(engine, queue)
    commands.delete_run(engine, run_id=run)
    assert requests.find(engine, request_id) is None
    assert not requests.answer(engine, request, result=b"png")
    with pytest.raises(UnknownRun, match="has been deleted"):
        ask(engine, run, kind)


@BOTH
def test_too_many_waiting_requests_are_refused(
    engine: Engine, run: str, queue: Queue, kind: str
) -> None:
    with writing(engine) as session:
        session.add_all(Request(run_id=run, kind=kind) for _ in range(queue.max_waiting))
    with pytest.raises(NotAllowed, match=rf"^{queue.max_waiting} .* are already waiting"):
        ask(engine, run, kind)
    ask(engine, run, SURFACE if queue is IMAGES else "draw")  # the other queue has room
    requests.answer(engine, claimed(engine, queue), error="no")
    ask(engine, run, kind)


# --- requests for images ---


def test_a_new_request_withdraws_the_one_before_unless_it_is_worked_on(
    engine: Engine, run: str
) -> None:
    first = ask(engine, run)
    second = ask(engine, run, instead_of=first)
    assert requests.find(engine, first) is None
    assert claimed(engine, IMAGES).id == second
    ask(engine, run, instead_of=second)
    assert requests.find(engine, second) is not None


def test_images_are_forgotten_after_an_hour_and_surfaces_are_kept(engine: Engine, run: str) -> None:
    old, young, surface = ask(engine, run), ask(engine, run), ask(engine, run, SURFACE)
    for request_id in (old, surface):
        shift(engine, request_id, asked_at=3601)
    shift(engine, young, asked_at=3540)
    requests.prune(engine, IMAGES)
    assert requests.find(engine, old) is None
    assert requests.find(engine, young) is not None
    assert requests.find(engine, surface) is not None


def test_runs_with_a_checkpoint_are_offered_the_newest_first(engine: Engine) -> None:
    submitted(engine, "without")
    kept = []
    for name in ("first", "second", "third"):
        own = training(engine, submitted(engine, name))
        checkpoint_reports.add_checkpoint(
            engine, **own, step=4, epoch=1, digest="0", size=1, keep=1
        )
        commands.finish(engine, **own, status="finished")
        kept.append(own["run_id"])
    with writing(engine) as session:
        run = session.get(queries.Run, kept[1])
        assert run is not None
        run.archived_at = run.created_at
    assert [run.id for run in queries.drawable_runs(engine, limit=9)] == [kept[2], kept[0]]
    assert [run.id for run in queries.drawable_runs(engine, limit=1)] == [kept[2]]


# --- surfaces and predictions ---


def test_the_same_surface_waits_once(engine: Engine, run: str) -> None:
    asked = requests.ask(engine, SURFACE, [run], OPTIONS)
    assert requests.ask(engine, SURFACE, [run], OPTIONS) == asked
    assert requests.ask(engine, PREDICTION, [run], OPTIONS) != asked
    requests.answer(engine, claimed(engine, ANALYSES, asked), result=b"npz")
    assert requests.ask(engine, SURFACE, [run], OPTIONS) != asked


def test_a_surface_waits_until_all_its_runs_have_ended(engine: Engine, run: str) -> None:
    other = submitted(engine)
    asked = requests.ask(engine, SURFACE, [run, other], OPTIONS)
    assert not requests.waiting(engine, ANALYSES)
    assert requests.claim(engine, ANALYSES) is None
    commands.request_stop(engine, run_id=other)
    request = claimed(engine, ANALYSES)
    assert (request.id, request.others) == (asked, [other])


def test_one_by_its_id_need_not_wait(engine: Engine) -> None:
    asked = requests.ask(engine, SURFACE, [submitted(engine)], OPTIONS)
    assert requests.claim(engine, ANALYSES) is None
    assert requests.claim(engine, ANALYSES, asked) is not None


def test_it_is_found_by_its_runs_and_options_and_goes_with_the_first(
    engine: Engine, run: str
) -> None:
    other = in_status(engine, "stopped")
    asked = requests.ask(engine, SURFACE, [run, other], OPTIONS)
    assert [one.id for one in requests.of_runs(engine, SURFACE, [run, other], OPTIONS)] == [asked]
    assert requests.of_runs(engine, SURFACE, [run], OPTIONS) == []
    assert requests.of_runs(engine, SURFACE, [other, run], OPTIONS) == []
    assert requests.of_runs(engine, SURFACE, [run, other], {**OPTIONS, "size": 5}) == []
    assert requests.of_runs(engine, PREDICTION, [run, other]) == []
    commands.delete_run(engine, run_id=other)
    assert requests.find(engine, asked) is not None
    commands.delete_run(engine, run_id=run)
    assert requests.find(engine, asked) is None


def test_what_is_not_answered_can_be_taken_back(engine: Engine, run: str) -> None:
    asked = requests.ask(engine, SURFACE, [run], OPTIONS)
    assert requests.withdraw(engine, asked)
    assert requests.find(engine, asked) is None
    assert not requests.withdraw(engine, asked)
    computed = claimed(engine, ANALYSES, requests.ask(engine, SURFACE, [run], OPTIONS))
    assert requests.withdraw(engine, computed.id)
    assert not requests.answer(engine, computed, result=b"npz")
    done = claimed(engine, ANALYSES, requests.ask(engine, SURFACE, [run], OPTIONS))
    requests.answer(engine, done, result=b"npz")
    assert not requests.withdraw(engine, done.id)
    assert requests.find(engine, done.id) is not None


def test_a_prediction_waits_for_no_run_to_end(engine: Engine) -> None:
    running = submitted(engine)
    asked = requests.ask(engine, PREDICTION, [running], {"steps": 3})
    requests.ask(engine, SURFACE, [running], OPTIONS)
    assert claimed(engine, ANALYSES).id == asked
    assert [one.id for one in requests.of_runs(engine, PREDICTION, [running])] == [asked]
    assert requests.claim(engine, ANALYSES) is None  # the surface waits


def test_what_cannot_be_asked_is_refused(engine: Engine, run: str) -> None:
    with pytest.raises(UnknownRun, match=r"^There is no run 'nobody'; it has been deleted.$"):
        requests.ask(engine, SURFACE, [run, "nobody"], OPTIONS)
    with pytest.raises(NotAllowed, match=r"^A surface supports 1 to 8 runs, not 9\.$"):
        requests.ask(engine, SURFACE, [run] * 9, OPTIONS)
    with pytest.raises(NotAllowed, match="not 0"):
        requests.ask(engine, SURFACE, [], OPTIONS)


def test_inference_workers_do_not_train(engine: Engine) -> None:
    heartbeats.record(engine, name="box:1", host="box", pid=1, run_id=None)
    heartbeats.record(
        engine,
        name="box:inference:7",
        kind=INFERENCE,
        host="box",
        pid=7,
        run_id=None,
        devices={"warm": False},
    )
    assert [state.worker.name for state in heartbeats.workers(engine)] == ["box:1"]
    [worker] = heartbeats.inference_workers(engine)
    assert worker.alive
    assert worker.worker.devices == {"warm": False}


# --- evaluations ---


def test_evaluations_wait_in_a_queue_of_their_own(engine: Engine, run: str) -> None:
    other = in_status(engine, "running")
    first = requests.ask(engine, requests.EVALUATION, [run], {})
    assert requests.ask(engine, requests.EVALUATION, [run], {}) == first  # it waits already
    second = requests.ask(engine, requests.EVALUATION, [other], {})
    assert not requests.waiting(engine, ANALYSES)
    assert not requests.waiting(engine, IMAGES)
    assert list(requests.newest_evaluations(engine)) == [run, other]
    assert claimed(engine, requests.EVALUATIONS).id == first  # whatever its runs do
    request = claimed(engine, requests.EVALUATIONS)
    assert request.id == second
    requests.answer(engine, request, result=b"", facts={"epochs": [3]})
    assert list(requests.newest_evaluations(engine)) == [run]
    again = requests.ask(engine, requests.EVALUATION, [other], {})
    found = requests.newest_evaluations(engine, [other])
    assert {run_id: one.id for run_id, one in found.items()} == {other: again}


def test_a_whole_sweep_may_wait_for_its_evaluation(
    engine: Engine, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert requests.EVALUATIONS.max_waiting >= 2 * 200  # runs of a sweep
    small = Queue(
        requests.EVALUATIONS.contains, requests.EVALUATIONS.full, 1, shared=True, kept_seconds=None
    )
    monkeypatch.setitem(requests._QUEUES, requests.EVALUATION, small)
    requests.ask(engine, requests.EVALUATION, [run], {})
    with pytest.raises(NotAllowed, match="500 evaluations are already waiting"):
        requests.ask(engine, requests.EVALUATION, [in_status(engine, "finished")], {})
