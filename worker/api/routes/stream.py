"""A run as it trains, as server-sent events (WHATWG HTML, 9.2)."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Annotated, Any

import anyio
from fastapi import APIRouter, Depends, Header
from fastapi.sse import EventSourceResponse, ServerSentEvent
from starlette.concurrency import run_in_threadpool

from ganboard.db.errors import UnknownRun
from ganboard.db.models import ENDED
from ganboard.db.runs import queries
from ganboard.worker.api import answers, views
from ganboard.worker.api.callers import Reading, Refused
from ganboard.worker.context import Context

POLL_SECONDS = 1.0
MAX_STREAMS = 32  # each reads the database every POLL_SECONDS
_POSITION = re.compile(r"(\d{1,9})-(\d{1,9})-(\d{1,18})", re.ASCII)
router = APIRouter(tags=["results"])
_streams = 0


@dataclass(frozen=True)
class Position:
    """What a client has seen: the last epoch, evaluated epoch, and event."""

    epoch: int = 0
    evaluated: int = -1
    event: int = 0

    def __str__(self) -> str:
        return f"{self.epoch}-{self.evaluated + 1}-{self.event}"

    @classmethod
    def parse(cls, text: str) -> Position:
        """As `str` wrote it; the beginning for anything else."""
        found = _POSITION.fullmatch(text)
        if found is None:
            return cls()
        epoch, evaluated, event = map(int, found.groups())
        return cls(epoch, evaluated - 1, event)


def _run_id(context: Reading, run: str) -> str:
    if _streams >= MAX_STREAMS:
        raise Refused(503, f"{MAX_STREAMS} runs are already being streamed. Try again shortly.")
    return views.find(context, run).id


@router.get("/runs/{run}/stream", summary="Follow a run", response_class=EventSourceResponse)
async def follow(
    context: Reading,
    run_id: Annotated[str, Depends(_run_id)],
    last_event_id: Annotated[str, Header()] = "",
) -> AsyncIterator[ServerSentEvent]:
    """Server-sent events: `epoch`, `quality` and `event` with all rows so far and then each new
    one; `run` whenever its state or progress changes; `end` when it has ended, which closes the
    stream. A client that reconnects with Last-Event-ID misses none and gets none twice."""
    position, shown = Position.parse(last_event_id), None
    with _counted():
        while True:
            try:
                rows, position, run = await run_in_threadpool(_news, context, run_id, position)
            except UnknownRun:  # removed meanwhile
                yield ServerSentEvent(event="end")
                return
            for row in rows:
                yield row
            if run != shown:
                yield ServerSentEvent(event="run", data=run)
                shown = run
            if run.status in ENDED:
                yield ServerSentEvent(event="end", data=run)
                return
            await anyio.sleep(POLL_SECONDS)


@contextmanager
def _counted() -> Iterator[None]:
    global _streams
    _streams += 1
    try:
        yield
    finally:
        _streams -= 1


def _news(
    context: Context, run_id: str, seen: Position
) -> tuple[list[ServerSentEvent], Position, answers.RunSummary]:
    """What came after a position, the position after it, and the run as it was before that: a run
    that has ended adds nothing more."""
    run = views.summary(context, run_id)
    engine, rows = context.engine, []

    def add(kind: str, row: Any, position: Position) -> Position:
        rows.append(ServerSentEvent(event=kind, data=row, id=str(position)))
        return position

    for epoch in queries.epochs(engine, run_id, after=seen.epoch):
        row = answers.EpochRow.model_validate(epoch)
        seen = add("epoch", row, replace(seen, epoch=epoch.epoch))
    for found in queries.qualities(engine, run_id, after=seen.evaluated):
        quality = answers.QualityRow.model_validate(found)
        seen = add("quality", quality, replace(seen, evaluated=found.epoch))
    for event in reversed(queries.events(engine, run_id, limit=None, after=seen.event)):
        said = answers.RunEvent.model_validate(event)
        seen = add("event", said, replace(seen, event=said.id))
    return rows, seen, run
