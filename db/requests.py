"""Requests to stored runs: a page or a command asks, a process claims the row and answers into it.
The inference worker (worker/requests/inference_worker.py) generates images for the playground; the
analysis worker (worker/requests/analysis.py) computes surfaces, predictions and evaluations,
registers versions of models, and writes networks as files."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, CursorResult, Engine, delete, update
from sqlmodel import Session, col, or_, select

from ganboard.db.clock import now
from ganboard.db.engine import reading, writing
from ganboard.db.errors import NotAllowed, UnknownRun
from ganboard.db.models import ENDED, Request, Run

SURFACE = "surface"
PREDICTION = "prediction"
EVALUATION = "evaluation"  # of the stored checkpoints; the results are in the table `quality`
REGISTRATION = "registration"  # of a checkpoint as a version of a model, which has the request's id
QUANTIZATION = "quantization"  # of a version of a model, likewise
NETWORK_FILE = "network_file"  # of a checkpoint; the file lies among those of the run
ABANDONED_SECONDS = 30.0  # without a heartbeat: the process that claimed it is dead
MAX_TRIES = 2
MAX_RUNS = 8  # on one surface


@dataclass(frozen=True, eq=False)
class Queue:
    """The requests that one kind of process answers, and what is promised about them."""

    contains: ColumnElement[bool]
    full: str  # the message to who asks for more than `max_waiting`
    max_waiting: int
    shared: bool  # asking for what waits already returns the waiting request
    kept_seconds: float | None  # since it was asked; None: as long as its run


_ANALYSES = (SURFACE, PREDICTION)
_MODELS = (REGISTRATION, QUANTIZATION)
IMAGES = Queue(
    col(Request.kind).not_in((*_ANALYSES, *_MODELS, EVALUATION, NETWORK_FILE)),
    "100 requests for images are already waiting. Try again shortly.",
    max_waiting=100,
    shared=False,
    kept_seconds=3600.0,
)
ANALYSES = Queue(
    col(Request.kind).in_(_ANALYSES),
    "20 surfaces and predictions are already waiting. Try again when some are finished.",
    max_waiting=20,
    shared=True,
    kept_seconds=None,
)
# a queue of their own: a sweep asks for many, and whoever looks at a run waits for few
EVALUATIONS = Queue(
    col(Request.kind) == EVALUATION,
    "500 evaluations are already waiting. Try again when some are finished.",
    max_waiting=500,
    shared=True,
    kept_seconds=None,
)
# short and asked for by who looks on: not behind the surfaces
MODELS = Queue(
    col(Request.kind).in_(_MODELS),
    "20 registrations and quantizations are already waiting. Try again when some are finished.",
    max_waiting=20,
    shared=True,
    kept_seconds=None,
)
NETWORK_FILES = Queue(
    col(Request.kind) == NETWORK_FILE,
    "20 files of networks are already waiting. Try again when some are finished.",
    max_waiting=20,
    shared=True,
    kept_seconds=None,
)
_QUEUES = {
    **dict.fromkeys(_ANALYSES, ANALYSES),
    **dict.fromkeys(_MODELS, MODELS),
    EVALUATION: EVALUATIONS,
    NETWORK_FILE: NETWORK_FILES,
}

_UNANSWERED = col(Request.answered_at).is_(None)


def ask(
    engine: Engine,
    kind: str,
    run_ids: Sequence[str],
    options: Mapping[str, Any],
    *,
    step: int | None = None,
    instead_of: str | None = None,
) -> str:
    """Store a request and return its id. `instead_of` is withdrawn unless it is being computed.

    Raises UnknownRun, and NotAllowed for too many runs or waiting requests.
    """
    if not 1 <= len(run_ids) <= MAX_RUNS:
        raise NotAllowed(f"A surface supports 1 to {MAX_RUNS} runs, not {len(run_ids)}.")
    queue = _QUEUES.get(kind, IMAGES)
    asked = Request(
        kind=kind, run_id=run_ids[0], others=list(run_ids[1:]), step=step, options=dict(options)
    )
    asked.asked_at = now()  # type: ignore[assignment]
    with writing(engine) as session:
        session.execute(
            delete(Request).where(
                col(Request.id) == instead_of, _UNANSWERED, col(Request.claimed_at).is_(None)
            )
        )
        for run_id in run_ids:
            if session.get(Run, run_id) is None:
                raise UnknownRun(f"There is no run {run_id[:80]!r}; it has been deleted.")
        waiting = session.exec(select(Request).where(_UNANSWERED, queue.contains)).all()
        if queue.shared:
            for one in waiting:
                if _question(one) == _question(asked):
                    return one.id
        if len(waiting) >= queue.max_waiting:
            raise NotAllowed(queue.full)
        session.add(asked)
        return asked.id


def claim(engine: Engine, queue: Queue, request_id: str | None = None) -> Request | None:
    """Take the request that has waited longest and need not wait for its runs, or one whose process
    died, or the one that is named, whatever its runs do.

    One compare-and-set on the database's clock: only one process gets it. `tries` counts the
    claims, this one included. None if nothing waits, or another process was quicker.
    """
    found = _next(engine, queue, request_id)
    if found is None:
        return None
    values = {"claimed_at": now(), "heartbeat_at": now(), "tries": col(Request.tries) + 1}
    with writing(engine) as session:
        claimed = session.execute(
            update(Request)
            .where(col(Request.id) == found.id, *_free())
            .values(values)
            .returning(col(Request.claimed_at), col(Request.tries))
            .execution_options(synchronize_session=False)
        ).one_or_none()
    if claimed is None:
        return None
    found.claimed_at, found.tries = claimed
    return found


def waiting(engine: Engine, queue: Queue) -> bool:
    """Whether there is something to claim."""
    return _next(engine, queue) is not None


def heartbeat(engine: Engine, request: Request, phase: str, progress: float) -> bool:
    """Keep a claim and store how far it is, 0 to 1; False if the request is gone or another's."""
    return _write(engine, request, phase=phase, progress=progress, heartbeat_at=now())


def answer(
    engine: Engine,
    request: Request,
    *,
    result: bytes | None = None,
    facts: Mapping[str, Any] | None = None,
    error: str | None = None,
) -> bool:
    """End a claimed request with a result or a sentence; False if the request is gone or
    another's."""
    values: dict[str, Any] = {"result": result, "facts": dict(facts or {}), "error": error}
    if error is None:
        values["progress"] = 1.0
    return _write(engine, request, answered_at=now(), **values)


def release(engine: Engine, request: Request) -> None:
    """Give a claimed request back, as if it had not been claimed."""
    _write(
        engine,
        request,
        claimed_at=None,
        heartbeat_at=None,
        tries=request.tries - 1,
        phase="",
        progress=0.0,
    )


def forget(engine: Engine, request_ids: Collection[str]) -> None:
    """Delete requests with their answers; who computes one ends at its next report."""
    with writing(engine) as session:
        session.execute(delete(Request).where(col(Request.id).in_(request_ids)))


def prune(engine: Engine, queue: Queue) -> None:
    """Delete the requests that are kept no longer."""
    assert queue.kept_seconds is not None
    old = col(Request.asked_at) < now(-queue.kept_seconds)
    with writing(engine) as session:
        session.execute(delete(Request).where(queue.contains, old))


def find(engine: Engine, request_id: str) -> Request | None:
    with reading(engine) as session:
        return session.get(Request, request_id)


def of_runs(
    engine: Engine, kind: str, run_ids: Sequence[str], options: Mapping[str, Any] | None = None
) -> list[Request]:
    """The requests of this kind for exactly these runs, in this order, newest first; with any
    options if none are given."""
    wanted = (
        select(Request)
        .where(col(Request.kind) == kind, col(Request.run_id) == run_ids[0])
        .order_by(col(Request.asked_at).desc())
    )
    with reading(engine) as session:
        return [
            one
            for one in session.exec(wanted)
            if one.others == list(run_ids[1:]) and (options is None or one.options == dict(options))
        ]


def of_models(engine: Engine, run_ids: Sequence[str] | None = None) -> list[Request]:
    """Registrations and quantizations of these runs, or of all, newest first."""
    wanted = select(Request).where(MODELS.contains).order_by(col(Request.asked_at).desc())
    if run_ids is not None:
        wanted = wanted.where(col(Request.run_id).in_(run_ids))
    with reading(engine) as session:
        return list(session.exec(wanted))


def newest_evaluations(engine: Engine, run_ids: Sequence[str] | None = None) -> dict[str, Request]:
    """The newest request for an evaluation of each of these runs that has one, by run, in the order
    in which they were asked; of all runs that wait for one if none are named."""
    wanted = select(Request).where(EVALUATIONS.contains).order_by(col(Request.asked_at))
    chosen = _UNANSWERED if run_ids is None else col(Request.run_id).in_(run_ids)
    with reading(engine) as session:
        return {one.run_id: one for one in session.exec(wanted.where(chosen))}


def withdraw(engine: Engine, request_id: str) -> bool:
    """Forget a request that is not answered; whoever computes it notices at its next report. False
    if it is answered, or gone."""
    unanswered = delete(Request).where(col(Request.id) == request_id, _UNANSWERED)
    with writing(engine) as session:
        result = session.execute(unanswered)
        assert isinstance(result, CursorResult)
        return bool(result.rowcount)


def _question(request: Request) -> tuple[Any, ...]:
    return request.kind, request.run_id, request.others, request.step, request.options


def _next(engine: Engine, queue: Queue, request_id: str | None = None) -> Request | None:
    wanted = select(Request).where(queue.contains, *_free()).order_by(col(Request.asked_at))
    if request_id:
        wanted = wanted.where(col(Request.id) == request_id)
    with reading(engine) as session:  # on SQLite a write would lock the database for every poll
        for one in session.exec(wanted):
            if request_id or one.kind != SURFACE or _runs_have_ended(session, one):
                return one
    return None


def _runs_have_ended(session: Session, request: Request) -> bool:
    busy = select(Run.id).where(
        col(Run.id).in_([request.run_id, *request.others]), col(Run.status).not_in(ENDED)
    )
    return session.exec(busy.limit(1)).first() is None


def _free() -> tuple[ColumnElement[bool], ...]:
    abandoned = col(Request.heartbeat_at) < now(-ABANDONED_SECONDS)
    return _UNANSWERED, or_(col(Request.heartbeat_at).is_(None), abandoned)


def _write(engine: Engine, request: Request, **values: Any) -> bool:
    ours = (
        col(Request.id) == request.id,
        col(Request.claimed_at) == request.claimed_at,
        _UNANSWERED,
    )
    with writing(engine) as session:
        result = session.execute(update(Request).where(*ours).values(values))
        assert isinstance(result, CursorResult)
        return bool(result.rowcount)
