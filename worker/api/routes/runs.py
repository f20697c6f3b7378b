"""Lists of runs, one run, what people add to it, the trash."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import AfterValidator, AwareDatetime, BeforeValidator

from ganboard.db.models import STATUSES
from ganboard.db.paging import runs as pages
from ganboard.db.placement import backlog
from ganboard.db.runs import annotations as run_annotations
from ganboard.db.runs import trash
from ganboard.gan.config import parse_assignments, parse_value
from ganboard.worker.api import answers, bodies, paging, views
from ganboard.worker.api.callers import Reading, Writing

Status = Literal[STATUSES]  # type: ignore[valid-type]  # a tuple, as Literal takes it


def _utc(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("the year is out of range") from None


# the pydantic type also takes seconds since 1970, which the document does not say
Moment = Annotated[AwareDatetime, BeforeValidator(datetime.fromisoformat), AfterValidator(_utc)]
router = APIRouter(tags=["runs"])


@router.get("/runs", summary="List runs, newest first")
def list_runs(
    context: Reading,
    status: Annotated[
        list[Status] | None, Query(description="Any of these; can be repeated.")
    ] = None,
    tag: Annotated[list[str] | None, Query(description="All of these; can be repeated.")] = None,
    name: Annotated[str, Query(description="Contained in the name, in any case.")] = "",
    preset: str | None = None,
    sweep: str | None = None,
    owner: str | None = None,
    setting: Annotated[
        list[str] | None, Query(description="KEY=VALUE of the configuration; all must hold.")
    ] = None,
    created_from: Moment | None = None,
    created_before: Moment | None = None,
    archived: bool = False,
    limit: paging.Limit = paging.USUALLY_LISTED,
    after: paging.After = None,
) -> answers.Page[answers.RunSummary]:
    """A page of the runs that pass all filters. The database filters; runs that are added or
    deleted meanwhile move no others between pages."""
    filters = pages.Filters(
        statuses=status or (),
        tags=tag or (),
        name=name,
        preset=preset,
        sweep=sweep,
        owner=owner,
        settings={
            key: parse_value(key, value) for key, value in parse_assignments(setting or []).items()
        },
        created_from=created_from,
        created_before=created_before,
        archived=archived,
    )
    position = paging.position(after)
    found = pages.page(context.engine, filters, limit=limit, after=position)
    return paging.answer(found, views.summaries(context, found.rows))


@router.get("/runs/{run}", summary="Show a run with its epochs and evaluations")
def show(context: Reading, run: str) -> answers.RunDetail:
    return views.detail(context, views.find(context, run))


@router.patch("/runs/{run}", summary="Tag a run, write its note, archive it, move it in the queue")
def change(context: Writing, run: str, asked: bodies.Change) -> answers.RunSummary:
    found = views.find(context, run)
    engine, run_ids = context.engine, [found.id]
    wanted = [run_annotations.check_tag(tag) for tag in asked.tags or ()]  # before anything changes
    if asked.note is not None:
        version = found.note_version if asked.note_version is None else asked.note_version
        run_annotations.write_note(engine, run_id=found.id, text=asked.note, version=version)
    if asked.tags is not None:
        had = run_annotations.tags_of(engine, run_ids)[found.id]
        if gone := set(had) - set(wanted):
            run_annotations.remove_tags(engine, run_ids=run_ids, tags=gone)
        if wanted:
            run_annotations.add_tags(engine, run_ids=run_ids, tags=wanted)
    if asked.archived is not None:
        move = run_annotations.archive if asked.archived else run_annotations.restore
        move(engine, run_ids=run_ids)
    if asked.priority is not None:
        backlog.set_priority(engine, run_id=found.id, priority=asked.priority)
    return views.summary(context, found.id)


@router.delete("/runs/{run}", summary="Move a run to the trash, for a week")
def delete(context: Writing, run: str) -> answers.RunSummary:
    found = views.find(context, run)
    trash.move(context.engine, run_id=found.id)
    return views.summary(context, found.id)


@router.post("/runs/{run}/restore", summary="Restore a run from the trash")
def restore(context: Writing, run: str) -> answers.RunSummary:
    found = views.find(context, run, trash_too=True)
    trash.restore(context.engine, run_id=found.id)
    return views.summary(context, found.id)
