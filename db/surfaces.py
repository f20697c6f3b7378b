"""Loss surfaces, and predictions of flows, that were asked for: a page or a study asks, a surveyor
(worker/requests/analysis.py) answers into the same row. A prediction is a request whose options are
{PREDICTION: what is asked}; its arrays are `png`, the bytes of a picture."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import CursorResult, Engine, update
from sqlmodel import col, or_, select

from ganboard.db.clock import now
from ganboard.db.engine import reading, writing
from ganboard.db.errors import NotAllowed, UnknownRun
from ganboard.db.models import ENDED, Run, Surface

ABANDONED_SECONDS = 30.0  # without a sign of life: its surveyor died over it
MAX_TRIES = 2
MAX_RUNS = 8  # on one surface
MAX_WAITING = 20
PREDICTION = "prediction"

_UNANSWERED = col(Surface.answered_at).is_(None)


def ask(engine: Engine, run_ids: Sequence[str], options: Mapping[str, Any]) -> str:
    """Store a request, unless the same one waits already, and return its id. A surface waits until
    all its runs have ended.

    Raises UnknownRun, and NotAllowed for too many runs or requests.
    """
    if not 1 <= len(run_ids) <= MAX_RUNS:
        raise NotAllowed(f"{len(run_ids)} runs do not fit on one surface: choose 1 to {MAX_RUNS}.")
    with writing(engine) as session:
        for run_id in run_ids:
            if session.get(Run, run_id) is None:
                raise UnknownRun(f"There is no run {run_id[:80]!r}: it was deleted.")
        waiting = list(session.exec(select(Surface).where(_UNANSWERED)))
        for one in waiting:
            if (one.run_id, one.others, one.options) == (
                run_ids[0],
                list(run_ids[1:]),
                dict(options),
            ):
                return one.id
        if len(waiting) >= MAX_WAITING:
            raise NotAllowed(
                f"{MAX_WAITING} surfaces and predictions are waiting already: try again when some"
                " are done."
            )
        moment: Any = now()
        asked = Surface(
            run_id=run_ids[0], others=list(run_ids[1:]), options=dict(options), asked_at=moment
        )
        session.add(asked)
        return asked.id


def claim(engine: Engine, surface_id: str | None = None) -> Surface | None:
    """Take the request that has waited longest and need not wait for its runs, or one whose
    surveyor died, or the one that is named.

    One compare-and-set, so only one surveyor gets it. None if there is none, or another one was
    quicker.
    """
    found = _next(engine, surface_id)
    if found is None:
        return None
    values = {"begun_at": now(), "beat_at": now(), "tries": found.tries + 1}
    unchanged = (
        col(Surface.beat_at).is_(None)
        if found.beat_at is None
        else col(Surface.beat_at) == found.beat_at
    )
    with writing(engine) as session:
        result = session.execute(
            update(Surface)
            .where(col(Surface.id) == found.id, _UNANSWERED, unchanged)
            .values(values)
        )
        assert isinstance(result, CursorResult)
        if not result.rowcount:
            return None
    found.tries += 1
    return found


def waiting(engine: Engine) -> bool:
    """Whether there is something to claim."""
    return _next(engine, None) is not None


def _next(engine: Engine, surface_id: str | None) -> Surface | None:
    free = or_(col(Surface.beat_at).is_(None), col(Surface.beat_at) < now(-ABANDONED_SECONDS))
    wanted = select(Surface).where(_UNANSWERED, free).order_by(col(Surface.asked_at))
    with reading(engine) as session:  # on SQLite a write would lock the database for every look
        for one in session.exec(
            wanted.where(col(Surface.id) == surface_id) if surface_id else wanted
        ):
            busy = session.exec(
                select(Run.id)
                .where(col(Run.id).in_([one.run_id, *one.others]), col(Run.status).not_in(ENDED))
                .limit(1)
            )
            if surface_id or PREDICTION in one.options or busy.first() is None:
                return one
    return None


def say(engine: Engine, surface: Surface, phase: str, done: float) -> bool:
    """A sign of life with the share that is done; False if the request is no longer there or ours."""
    return _write(engine, surface, phase=phase, done=done, beat_at=now())


def answer(
    engine: Engine,
    surface: Surface,
    *,
    arrays: Mapping[str, npt.NDArray[Any]] | None = None,
    facts: Mapping[str, Any] | None = None,
    error: str | None = None,
) -> bool:
    """End a claimed request with arrays (as `gan.landscape.compute.compute` gives them) or a
    sentence."""
    packed = None
    if arrays is not None:
        buffer = io.BytesIO()
        np.savez_compressed(buffer, allow_pickle=False, **arrays)
        packed = buffer.getvalue()
    done = 1.0 if error is None else surface.done
    return _write(
        engine,
        surface,
        arrays=packed,
        facts=dict(facts or {}),
        error=error,
        done=done,
        answered_at=now(),
    )


def release(engine: Engine, surface: Surface) -> None:
    """Give a claimed request back, as if it had never been tried."""
    _write(
        engine, surface, begun_at=None, beat_at=None, tries=surface.tries - 1, phase="", done=0.0
    )


def find(engine: Engine, surface_id: str) -> Surface | None:
    with reading(engine) as session:
        return session.get(Surface, surface_id)


def of_runs(
    engine: Engine, run_ids: Sequence[str], options: Mapping[str, Any] | None = None
) -> list[Surface]:
    """The surfaces through the end of the first of `run_ids` with exactly the others on it, newest
    first; any options if none are given."""
    with reading(engine) as session:
        wanted = (
            select(Surface)
            .where(col(Surface.run_id) == run_ids[0])
            .order_by(col(Surface.asked_at).desc())
        )
        return [
            one
            for one in session.exec(wanted)
            if one.others == list(run_ids[1:]) and (options is None or one.options == dict(options))
        ]


def predictions(engine: Engine, run_id: str) -> list[Surface]:
    """What was asked of one run's network, newest first."""
    with reading(engine) as session:
        wanted = (
            select(Surface)
            .where(col(Surface.run_id) == run_id)
            .order_by(col(Surface.asked_at).desc())
        )
        return [one for one in session.exec(wanted) if PREDICTION in one.options]


def unpack(surface: Surface) -> dict[str, npt.NDArray[Any]]:
    """The arrays of an answered request."""
    assert surface.arrays is not None
    with np.load(io.BytesIO(surface.arrays), allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def _write(engine: Engine, surface: Surface, **values: Any) -> bool:
    ours = col(Surface.id) == surface.id, col(Surface.tries) == surface.tries, _UNANSWERED
    with writing(engine) as session:
        result = session.execute(update(Surface).where(*ours).values(values))
        assert isinstance(result, CursorResult)
        return bool(result.rowcount)
