"""The task that a scheduler starts on each machine of a job: `python -m
ganboard.worker.schedulers.node RUN_ID`. All of them train the run together; the first leads.

They are a worker group like any other (`worker/training/worker_group.py`), except that the
scheduler has chosen the machines.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version

from ganboard.db import heartbeats
from ganboard.db.heartbeats import WorkerState
from ganboard.db.models import ENDED, NODE, Member, Run
from ganboard.db.placement import groups
from ganboard.db.placement.groups import Place
from ganboard.db.runs import queries
from ganboard.db.runs.commands import Claim
from ganboard.gan.devices.hardware import versions
from ganboard.worker import logs, placement
from ganboard.worker.clear_errors import CLEAR_ERRORS
from ganboard.worker.context import Context, open_context
from ganboard.worker.process import machine
from ganboard.worker.process.ports import own_address
from ganboard.worker.queue import attempt
from ganboard.worker.queue.interrupts import Interrupt, interrupts
from ganboard.worker.queue.reconcile import expire_leases

log = logging.getLogger("ganboard.worker")

# for the tasks of a job to start, and for the lease of an attempt that was cut off to run out
MEET_SECONDS = 180.0
POLL_SECONDS = 1.0
EXIT_AGAIN = 75  # EX_TEMPFAIL: the run waits for another job


class NodeError(Exception):
    """This job cannot train the run; the message says why."""


@dataclass(frozen=True)
class Task:
    """This process among the tasks of a job."""

    job: str  # with the name of its scheduler
    index: int
    count: int

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Task:
        """As SLURM or Kubernetes (JobSet with an indexed job) describe it. Raises NodeError."""
        try:
            if "SLURM_JOB_ID" in environment:
                job = f"slurm-{environment['SLURM_JOB_ID']}"
                index, count = environment["SLURM_PROCID"], environment["SLURM_NTASKS"]
            else:
                job = f"kubernetes-{environment['GANBOARD_JOB']}"
                index = environment["JOB_COMPLETION_INDEX"]
                count = environment["GANBOARD_JOB_TASKS"]
            return cls(job, int(index), int(count))
        except (KeyError, ValueError) as error:
            raise NodeError(
                f"This task was not started by SLURM or Kubernetes ({error}): use `ganboard run"
                " --set placement=slurm`."
            ) from None

    def worker(self, index: int) -> str:
        """The name of the worker that a task of this job is."""
        return f"{self.job}-{index}"


def train(context: Context, run_id: str, task: Task, interrupt: Interrupt) -> int:
    """Train the run until it ends, or until it has to wait for another job. Raises NodeError."""
    run = _found(context, run_id)
    if (hosts := int(run.config.get("hosts") or 1)) != task.count:
        raise NodeError(f"Run {run_id} needs {hosts} machines, and this job has {task.count}.")
    deadline = time.monotonic() + MEET_SECONDS
    while (run := _found(context, run_id)).status not in ENDED and not interrupt.came:
        _beat(context, task)
        began = (
            _lead(context, run, task, interrupt)
            if task.index == 0
            else _follow(context, task, interrupt)
        )
        if began:
            deadline = time.monotonic() + MEET_SECONDS
        elif time.monotonic() > deadline:
            raise NodeError(_why_not(context, run, task))
        else:
            time.sleep(POLL_SECONDS)
    return 0 if run.status in ENDED else EXIT_AGAIN


def _lead(context: Context, run: Run, task: Task, interrupt: Interrupt) -> bool:
    """An attempt, if all tasks are there and the run is free."""
    expire_leases(context)
    nodes = _nodes(context, task)
    if len(nodes) < task.count:
        return False
    group = [_place(state) for state in nodes] if task.count > 1 else []
    if other := next((one for one in nodes if _versions(one) != _versions(nodes[0])), None):
        raise NodeError(
            f"{other.worker.host} has {_versions(other)} and {nodes[0].worker.host}"
            f" {_versions(nodes[0])}: install the same on all nodes."
        )
    claim: Claim | None = placement.claim(context, run.id, task.worker(0), group)
    if claim is None:
        return False
    logs.bind(run=run.id, attempt=claim.attempt)
    attempt.lead(context, claim, interrupt, "suspend")
    return True


def _follow(context: Context, task: Task, interrupt: Interrupt) -> bool:
    """This machine's part of an attempt, if the first task has claimed the run."""
    member: Member | None = groups.of_worker(context.engine, task.worker(task.index))
    if member is None:
        return False
    logs.bind(run=member.run_id, attempt=member.attempt)
    attempt.follow(context, member, interrupt)
    return True


def _why_not(context: Context, run: Run, task: Task) -> str:
    there = {state.worker.name for state in _nodes(context, task)}
    missing = [str(n) for n in range(task.count) if task.worker(n) not in there]
    if missing:
        return f"Tasks {', '.join(missing)} of {task.count} did not start."
    if placement.newest_elsewhere(context, run):
        return placement.absence(context, run)
    return f"Run {run.id} could not be claimed within {MEET_SECONDS:.0f} s (it is {run.status})."


def _nodes(context: Context, task: Task) -> list[WorkerState]:
    """The tasks of this job that are alive, in order."""
    names = [task.worker(index) for index in range(task.count)]
    alive = {one.worker.name: one for one in heartbeats.nodes(context.engine) if one.alive}
    return [alive[name] for name in names if name in alive]


def _beat(context: Context, task: Task) -> None:
    heartbeats.record(
        context.engine,
        name=task.worker(task.index),
        kind=NODE,
        host=socket.gethostname(),
        pid=os.getpid(),
        run_id=None,
        devices={"versions": {**versions(), "ganboard": version("ganboard")}},
        machine=machine.name(context.settings),
        boot=machine.boot(),
        address=own_address(context.settings),
    )


def _place(state: WorkerState) -> Place:
    worker = state.worker
    return Place(worker.name, worker.machine or "", worker.host, worker.address)


def _versions(state: WorkerState) -> str:
    found = (state.worker.devices or {}).get("versions") or {}
    return ", ".join(f"{name} {number}" for name, number in sorted(found.items()))


def _found(context: Context, run_id: str) -> Run:
    run = queries.get_run(context.engine, run_id)
    if run is None:
        raise NodeError(f"There is no run {run_id[:80]!r} in this database.")
    return run


def main(arguments: Sequence[str]) -> int:
    """Train until SIGTERM; the exit code is the task's."""
    logs.configure()
    (run_id,) = arguments
    context: Context | None = None
    task: Task | None = None
    try:
        task = Task.of(os.environ)
        context = open_context(pooled=False)
        with interrupts(signal.SIGTERM, signal.SIGINT) as interrupt:
            return train(context, run_id, task, interrupt)
    except (NodeError, *CLEAR_ERRORS) as error:
        log.error("%s", error)
        return 1
    finally:
        if context and task:
            heartbeats.forget(context.engine, name=task.worker(task.index))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
