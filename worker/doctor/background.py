"""The processes beside the workers, by their heartbeats: those that answer requests, send alerts,
and drive searches and claims."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from sqlalchemy import Engine

from ganboard.db import heartbeats
from ganboard.db.alerts import channels
from ganboard.db.claims import records
from ganboard.db.heartbeats import WorkerState
from ganboard.db.placement import jobs
from ganboard.db.searches import searches
from ganboard.worker import formatting
from ganboard.worker.doctor.check import Check
from ganboard.worker.placement.waiting import TITLES


@dataclass(frozen=True)
class Service:
    """A kind of process, and when one is needed."""

    name: str
    does: str
    seen: Callable[[Engine], list[WorkerState]]
    needed: Callable[[Engine], bool]
    command: str  # that runs one in the foreground; `ganboard up` starts all of them
    without: str  # what happens while one is needed and none runs
    idle: str  # why none is needed


INFERENCE = Service(
    "inference worker",
    "computes images, surfaces, predictions and evaluations on request",
    heartbeats.inference_workers,
    lambda _: True,
    "ganboard inference-worker",
    "requests of the playground, surfaces, predictions and evaluations wait",
    "",
)
ALERTS = Service(
    "alerts",
    "sends alerts to channels",
    heartbeats.alert_senders,
    channels.any_listed,
    "ganboard alerts send",
    "no alert is sent",
    "there is no channel",
)
SEARCHES = Service(
    "searches",
    "submits and prunes the runs of searches",
    heartbeats.search_drivers,
    searches.any_running,
    "ganboard search drive",
    "the runs of searches are neither submitted nor pruned",
    "no search is running",
)
CLAIMS = Service(
    "claims",
    "submits the runs of claims and gives verdicts",
    heartbeats.claim_runners,
    records.any_open,
    "ganboard claims work",
    "open claims get no runs and no verdict",
    "no claim is open",
)
SCHEDULERS = tuple(
    Service(
        title,
        "submits runs as jobs, and follows them",
        partial(heartbeats.drivers, scheduler=name),
        partial(jobs.any_wanted, scheduler=name),
        f"ganboard schedule {name}",
        f"runs with placement={name} wait",
        "no run wants it",
    )
    for name, title in TITLES.items()
)


def services(engine: Engine) -> list[Service]:
    """Those that an installation has; schedulers only where a run wants one."""
    wanted = [one for one in SCHEDULERS if one.needed(engine) or one.seen(engine)]
    return [INFERENCE, ALERTS, SEARCHES, CLAIMS, *wanted]


def checks(engine: Engine) -> Iterator[Check]:
    """Whether each is alive, where it is needed."""
    for service in services(engine):
        yield _check(engine, service)


def _check(engine: Engine, service: Service) -> Check:
    seen = service.seen(engine)
    alive = [state.worker for state in seen if state.alive]
    if alive:
        text = f"{len(alive)} running"
        if service is INFERENCE:
            warm = any((worker.devices or {}).get("warm") for worker in alive)
            text += ", warm" if warm else ", will load TensorFlow with the first request"
        return Check(service.name, "ok", text)
    if not service.needed(engine):
        return Check(service.name, "ok", f"none running and none needed: {service.idle}")
    newest = min((state.age_seconds for state in seen), default=None)
    silent = "" if newest is None else f" (last heartbeat {formatting.ago(newest)})"
    return Check(
        service.name,
        "warn",
        f"none running{silent}: {service.without}",
        f"Run: `ganboard up` (or `{service.command}`)",
    )
