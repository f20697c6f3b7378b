"""The machines whose workers share the queue."""

from __future__ import annotations

from fastapi import APIRouter

from ganboard.db.placement import draining
from ganboard.worker import fleet
from ganboard.worker.api import answers, views
from ganboard.worker.api.callers import Reading, Writing

router = APIRouter(tags=["machines"])


@router.get("/machines", summary="List the machines")
def list_machines(context: Reading) -> list[answers.MachineRow]:
    """Those whose workers were seen within the hour, or that are drained."""
    return [views.machine(one) for one in fleet.machines(context.engine)]


@router.post("/machines/{machine}/drain", summary="Drain a machine: it starts no further run")
def drain(context: Writing, machine: str) -> answers.MachineRow:
    """What it trains goes on to its end."""
    name = fleet.find(context.engine, machine).name
    draining.drain(context.engine, name)
    return views.machine(fleet.find(context.engine, name))


@router.post(
    "/machines/{machine}/undrain",
    summary="Undrain a machine: it starts runs again",
    status_code=204,
)
def undrain(context: Writing, machine: str) -> None:
    """One that is away is no longer listed then."""
    draining.undrain(context.engine, fleet.find(context.engine, machine).name)
