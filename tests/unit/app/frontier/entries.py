"""Evaluated runs as the database would list them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from ganboard.app.frontier.comparable import Entry
from ganboard.db.runs.listing import Listed
from ganboard.gan.presets import load
from ganboard.gan.settings.features import CLASSIFIER, Source

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def entry(
    run_id: str,
    *,
    status: str = "finished",
    source: Source | None = None,
    revision: int = 1,
    machine: str = "box",
    **settings: Any,
) -> Entry:
    run = Listed(
        id=run_id, name=run_id, status=status, preset="", sweep=None,
        config=load("tiny").model_dump(mode="json") | settings, note=None, archived_at=None,
        created_at=NOW, started_at=NOW, ended_at=NOW, steps_per_epoch=4, epoch=3, step=12,
        seconds=6.0, g_loss=None, d_loss=None, images_per_second=None, external=False, tags=(),
        fid=None, fid_encoder=None, fid_inception=None, memorization=None,
    )  # fmt: skip
    return Entry(run, source or Source(CLASSIFIER), revision, machine)
