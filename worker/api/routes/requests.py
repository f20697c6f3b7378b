"""What an analysis worker computes on request: evaluations, versions of models, networks as
files."""

from __future__ import annotations

from fastapi import APIRouter

from ganboard.db import requests, versions
from ganboard.worker.api import answers, bodies, views
from ganboard.worker.api.callers import Reading, Refused, Writing
from ganboard.worker.context import Context
from ganboard.worker.requests import network_files
from ganboard.worker.requests.network_files import NetworkFile
from ganboard.worker.requests.versions import Quantization, Registration

ACCEPTED = 202
router = APIRouter(tags=["requests"])


@router.get("/requests/{request_id}", summary="Show the progress of a request")
def show(context: Reading, request_id: str) -> answers.Answer:
    found = requests.find(context.engine, request_id)
    if found is None:
        raise Refused(404, f"There is no request {request_id[:40]!r}.")
    return views.request_state(found)


@router.post("/runs/{run}/evaluations", summary="Evaluate stored checkpoints", status_code=ACCEPTED)
def evaluate(context: Writing, run: str) -> answers.Answer:
    """Of all finished epochs later than the last evaluation, as training would have. What waits
    already is not asked twice."""
    found = views.find(context, run)
    return _asked(context, requests.ask(context.engine, requests.EVALUATION, [found.id], {}))


@router.post(
    "/runs/{run}/versions", summary="Register a checkpoint as a version", status_code=ACCEPTED
)
def register(context: Writing, run: str, asked: bodies.Register) -> answers.Answer:
    """Of a model. The new version has the id of the request."""
    found = views.find(context, run)
    options = Registration(name=versions.check_name(asked.name), epoch=asked.epoch).model_dump()
    return _asked(context, requests.ask(context.engine, requests.REGISTRATION, [found.id], options))


@router.post("/runs/{run}/networks", summary="Write a network as a file", status_code=ACCEPTED)
def write_network(context: Writing, run: str, asked: bodies.WriteNetwork) -> answers.Answer:
    """Once it is done, `/api/runs/RUN/networks/ID` with the id of the request has the file."""
    options = NetworkFile(**asked.model_dump())
    return _asked(context, network_files.ask(context, views.find(context, run), options))


@router.post("/models/{version}/quantizations", summary="Quantize a version", status_code=ACCEPTED)
def quantize(context: Writing, version: str, asked: bodies.Quantize) -> answers.Answer:
    """Refused by the worker when quality suffers more than the limit."""
    found = versions.find(context.engine, version)
    given = asked.model_dump(exclude_none=True)
    options = Quantization(version=found.id, **given).model_dump()
    return _asked(
        context, requests.ask(context.engine, requests.QUANTIZATION, [found.run_id], options)
    )


def _asked(context: Context, request_id: str) -> answers.Answer:
    found = requests.find(context.engine, request_id)
    assert found is not None, "it was stored just now"
    return views.request_state(found)
