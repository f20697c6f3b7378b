"""Claiming a run for a machine that has, or fetches, its newest checkpoint."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress

from ganboard.db.errors import LeaseLost
from ganboard.db.models import Artifact, Checkpoint
from ganboard.db.placement import artifacts
from ganboard.db.placement.groups import Place
from ganboard.db.runs import commands, holders, queries, reports
from ganboard.db.runs.commands import Claim
from ganboard.worker.artifacts import transfers
from ganboard.worker.artifacts.store import StoreError, open_store
from ganboard.worker.context import Context
from ganboard.worker.placement import forming
from ganboard.worker.placement.checkpoints import may_start, suffices

log = logging.getLogger("ganboard.worker")


def claim(
    context: Context, run_id: str, worker: str, group: Sequence[Place] | None = None
) -> Claim | None:
    """`commands.claim`, with a group for a run on several machines unless a scheduler has chosen
    one; None also where too few machines are free, or where this machine can neither read the
    newest checkpoint nor fetch it from the artifact store: no attempt is spent on it."""
    engine = context.engine
    run = queries.get_run(engine, run_id)
    if run is None:
        return None
    newest, stored = holders.newest(engine, run_id), artifacts.newest(engine, run_id)
    fetched = None
    if stored is not None and (newest is None or not _reads(context, newest, stored)):
        if not suffices(stored, newest) or (fetched := _fetched(context, stored)) is None:
            return None
    elif newest is not None and not may_start(context.settings, newest):
        return None
    if group is None:
        group = forming.group(context, run, worker)
        if not group:
            return None
    together = group if len(group) > 1 else ()
    claimed = commands.claim(
        engine, run_id=run_id, worker=worker, after=run.attempt, group=together
    )
    if claimed is not None and fetched:
        with suppress(LeaseLost):
            reports.add_event(
                engine, run_id=run_id, attempt=claimed.attempt, level="info", text=fetched
            )
    return claimed


def _reads(context: Context, newest: Checkpoint, stored: Artifact) -> bool:
    """Whether the newest checkpoint on a disk is here and none that is stored is newer."""
    older = (stored.step, stored.attempt) <= (newest.step, newest.attempt)
    return older and may_start(context.settings, newest)


def _fetched(context: Context, stored: Artifact) -> str | None:
    """What was fetched, in words; None where it could not be, which the log tells."""
    try:
        if (store := open_store(context.settings)) is None:
            return None
        transfers.fetch(context.settings, store, stored)
    except StoreError as error:
        log.warning("%s", error)
        return None
    return f"Fetched the checkpoint of step {stored.step} from the artifact store."
