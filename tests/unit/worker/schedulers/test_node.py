"""worker.schedulers.node: what a task of a job knows of itself, and what keeps it from training."""

from __future__ import annotations

import os

import pytest

from ganboard.db.models import Run
from ganboard.db.runs import commands
from ganboard.worker.context import Context
from ganboard.worker.queue.interrupts import Interrupt
from ganboard.worker.schedulers import node
from ganboard.worker.schedulers.node import NodeError, Task

SLURM = {"SLURM_JOB_ID": "17", "SLURM_PROCID": "1", "SLURM_NTASKS": "2"}
KUBERNETES = {
    "GANBOARD_JOB": "ganboard-abc-0",
    "JOB_COMPLETION_INDEX": "1",
    "GANBOARD_JOB_TASKS": "2",
}


def waiting_run(context: Context, **changes: object) -> Run:
    config = {"strategy": "multi_worker", "replicas": 2, "hosts": 2, **changes}
    return commands.create_run(context.engine, name="a run", config=config)


def test_both_schedulers_say_which_task_this_is() -> None:
    assert Task.of(SLURM) == Task("slurm-17", 1, 2)
    assert Task.of(KUBERNETES) == Task("kubernetes-ganboard-abc-0", 1, 2)


@pytest.mark.parametrize("lacks", ["SLURM_PROCID", "JOB_COMPLETION_INDEX"])
def test_a_task_that_nobody_started_says_how_to(lacks: str) -> None:
    known = SLURM if lacks in SLURM else KUBERNETES
    with pytest.raises(NodeError, match="placement=slurm"):
        Task.of({name: value for name, value in known.items() if name != lacks})


def test_a_job_of_another_size_is_refused(context: Context) -> None:
    run = waiting_run(context)
    with pytest.raises(NodeError, match="needs 2 machines, and this job has 3"):
        node.train(context, run.id, Task("slurm-17", 0, 3), Interrupt())


def test_tasks_that_do_not_come_are_named(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node, "MEET_SECONDS", 0.5)
    monkeypatch.setattr(node, "POLL_SECONDS", 0.1)
    run = waiting_run(context)
    with pytest.raises(NodeError, match="Tasks 1 of 2 did not start"):
        node.train(context, run.id, Task("slurm-17", 0, 2), Interrupt())


def test_a_run_that_has_ended_needs_no_task(context: Context) -> None:
    run = waiting_run(context)
    commands.request_stop(context.engine, run_id=run.id)
    assert node.train(context, run.id, Task("slurm-17", 0, 2), Interrupt()) == 0


def test_a_run_of_another_database_is_an_error_in_words(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in SLURM.items():
        monkeypatch.setitem(os.environ, name, value)
    assert node.main(["zzzzzzzzzz"]) == 1
