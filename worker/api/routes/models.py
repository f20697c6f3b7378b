"""Versions of models; presets and settings to launch with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter

from ganboard.db import versions
from ganboard.db.models import ModelVersion
from ganboard.worker.api import answers, bodies
from ganboard.worker.api.callers import Reading, Writing
from ganboard.worker.context import Context
from ganboard.worker.registry import standing
from ganboard.worker.registry.versions import remove
from ganboard.worker.terminal.settings import settings_document

router = APIRouter(tags=["models"])


@router.get("/models", summary="List the versions of models, newest first")
def list_versions(context: Reading) -> list[answers.Version]:
    found = versions.listed(context.engine)
    return _rows(context, found)


@router.get("/models/{version}", summary="Show a version of a model")
def show(context: Reading, version: str) -> answers.Version:
    """VERSION is an id, `name:3` or `name@alias`."""
    return _row(context, versions.find(context.engine, version))


@router.put("/models/{version}/alias", summary="Set an alias of a version")
def alias(context: Writing, version: str, asked: bodies.Alias) -> answers.Version:
    """Taken from the version of this model that has it."""
    found = versions.find(context.engine, version)
    versions.alias(context.engine, found, asked.alias)
    return _row(context, found)


@router.delete("/models/{version}", summary="Delete a version with its files", status_code=204)
def delete(context: Writing, version: str) -> None:
    remove(context, versions.find(context.engine, version))


@router.get("/settings", summary="Settings and presets to launch with", tags=["launching"])
def settings(_: Reading) -> dict[str, Any]:
    """Each setting with its default, what it may be, and why one would change it; each preset with
    what it trains."""
    return settings_document()


def _row(context: Context, version: ModelVersion) -> answers.Version:
    every = _rows(context, versions.listed(context.engine))
    return next(row for row in every if row.id == version.id)


def _rows(context: Context, found: Sequence[ModelVersion]) -> list[answers.Version]:
    aliases = versions.aliases(context.engine)
    standings = standing.standings(context, found)
    return [
        answers.Version.model_validate(
            one.model_dump()
            | {"aliases": aliases.get(one.id, []), "standing": standings[one.id].sentences}
        )
        for one in found
    ]
