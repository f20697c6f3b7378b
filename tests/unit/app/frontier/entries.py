"""Evaluated runs as the database would list them."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

from ganboard.db.runs.listing import Listed
from ganboard.gan.presets import load
from ganboard.gan.settings.features import CLASSIFIER, Source
from ganboard.worker.comparison.comparable import Entry

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
    values = dict.fromkeys(field.name for field in fields(Listed)) | {
        "id": run_id,
        "name": run_id,
        "status": status,
        "config": load("tiny").model_dump(mode="json") | settings,
        "created_at": NOW,
        "external": False,
        "tags": (),
    }
    run = Listed(**values)  # type: ignore[arg-type]
    return Entry(run, source or Source(CLASSIFIER), revision, machine)
