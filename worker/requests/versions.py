"""Versions of models, registered or quantized on request. A version has the id of its request, so
that answering twice stores one."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ganboard.db import requests, versions
from ganboard.db.models import ModelVersion, Request
from ganboard.db.runs import queries
from ganboard.gan.generation.latent_requests import InvalidRequest
from ganboard.gan.generation.quantization import Variant
from ganboard.worker.context import Context
from ganboard.worker.registry import versions as models
from ganboard.worker.requests.loop import OnProgress


class Registration(BaseModel):
    """The options of a request for a version of a run's checkpoint."""

    model_config = ConfigDict(extra="forbid")

    name: str
    epoch: Annotated[int | None, Field(ge=0)] = None  # None: the newest checkpoint


class Quantization(BaseModel):
    """The options of a request for a version with weights in fewer bits."""

    model_config = ConfigDict(extra="forbid")

    version: str  # its id
    to: Variant
    limit: Annotated[float, Field(ge=0)] = models.LIMIT  # percent
    force: bool = False


def compute(
    context: Context, request: Request, on_progress: OnProgress
) -> tuple[bytes, dict[str, Any]]:
    """Register what is asked; the facts say which `version` it is. Raises errors in one
    sentence."""
    stored = versions.get(context.engine, request.id)
    if stored is None:
        make = _register if request.kind == requests.REGISTRATION else _quantize
        try:
            stored = make(context, request, on_progress)
        except ValidationError as error:
            raise InvalidRequest(
                f"The request cannot be read ({error.errors()[0]['msg']}). Ask again."
            ) from None
    return b"", {"version": stored.id, "called": f"{stored.name}:{stored.version}"}


def _register(context: Context, request: Request, on_progress: OnProgress) -> ModelVersion:
    asked = Registration.model_validate(request.options)
    run = queries.find_run(context.engine, request.run_id)
    return models.add(
        context, run, asked.name, asked.epoch, version_id=request.id, on_progress=on_progress
    )


def _quantize(context: Context, request: Request, on_progress: OnProgress) -> ModelVersion:
    asked = Quantization.model_validate(request.options)
    parent = versions.get(context.engine, asked.version)
    if parent is None or parent.removed_at is not None:
        raise InvalidRequest("The version has been removed. Choose another one.")
    return models.quantize(
        context,
        parent,
        asked.to,
        limit=asked.limit,
        force=asked.force,
        version_id=request.id,
        on_progress=on_progress,
    )
