"""worker.schedulers.slurm with commands that answer as SLURM's do; tests/cluster has a real one."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ganboard.app.run import status
from ganboard.db.models import Run
from ganboard.db.placement import jobs
from ganboard.db.runs import commands, queries
from ganboard.worker.context import Context
from ganboard.worker.placement import waiting
from ganboard.worker.schedulers import driver
from ganboard.worker.schedulers.slurm import Slurm
from ganboard.worker.terminal import run_progress

Answer = Callable[..., None]
CONFIG = {
    "strategy": "multi_worker",
    "replicas": 2,
    "hosts": 2,
    "placement": "slurm",
    "scheduler_options": "--partition=gpu --time=1:00:00",
}


@pytest.fixture
def answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Answer:
    """Sets what a command prints and how it ends; what it was given lies in `<command>.given`."""
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")

    def one(command: str, text: str = "", *, error: str = "") -> None:
        path = programs / command
        given = tmp_path / f"{command}.given"
        ends = f"echo '{error}' >&2; exit 1" if error else f"printf '%s' '{text}'"
        path.write_text(f'#!/bin/sh\necho "$@" >> {given}\ncat >> {given}\n{ends}\n')
        path.chmod(0o755)

    one("squeue")
    one("scancel")
    return one


def waiting_run(context: Context) -> Run:
    return commands.create_run(context.engine, name="a run", config=CONFIG)


def now(context: Context, run: Run) -> Run:
    found = queries.get_run(context.engine, run.id)
    assert found is not None
    return found


def job(context: Context, run: Run) -> str:
    found = jobs.of_run(context.engine, run.id)
    assert found is not None
    return f"{found.job_id} {found.state} {found.reason}".strip()


def test_a_job_has_a_task_on_each_node_and_the_options_of_its_run(
    context: Context, answer: Answer, tmp_path: Path
) -> None:
    answer("sbatch", "17;cluster")
    run = waiting_run(context)
    assert driver.advance(context, Slurm()) == 1
    assert job(context, run) == "17"
    given = (tmp_path / "sbatch.given").read_text()
    for word in ("--nodes=2", "--ntasks-per-node=1", "--requeue", "--partition=gpu"):
        assert word in given.splitlines()[0].split()
    assert "srun --kill-on-bad-exit=1" in given
    assert f"ganboard.worker.schedulers.node {run.id}" in given
    answer("squeue", "16|RUNNING|None\n17|PENDING|Resources\n")
    driver.advance(context, Slurm())
    assert job(context, run) == "17 PENDING Resources"
    commands.request_stop(context.engine, run_id=run.id)
    driver.advance(context, Slurm())
    assert (tmp_path / "scancel.given").read_text().split() == ["--quiet", "17"]


def test_a_job_that_a_dead_driver_submitted_is_found_again(
    context: Context, answer: Answer
) -> None:
    answer("sbatch", "18")
    answer("squeue", "17\n")
    run = waiting_run(context)
    driver.advance(context, Slurm())
    assert job(context, run) == "17"


@pytest.mark.parametrize(
    ("state", "status"), [("CANCELLED", "stopped"), ("TIMEOUT", "queued"), ("NODE_FAIL", "queued")]
)
def test_how_a_job_ends_decides_what_becomes_of_its_run(
    context: Context, answer: Answer, state: str, status: str
) -> None:
    answer("sbatch", "17")
    run = waiting_run(context)
    driver.advance(context, Slurm())
    answer("squeue", f"17|{state}|None\n")
    driver.advance(context, Slurm())
    assert now(context, run).status == status


def test_a_controller_that_is_away_keeps_runs_waiting(context: Context, answer: Answer) -> None:
    answer("sbatch", error="sbatch: error: Unable to contact slurm controller (connect failure)")
    run = waiting_run(context)
    assert driver.advance(context, Slurm()) == 0
    assert now(context, run).status == "queued"
    answer("sbatch", "17")
    assert driver.advance(context, Slurm()) == 1


def test_what_slurm_refuses_ends_the_run_with_its_words(context: Context, answer: Answer) -> None:
    answer("sbatch", error="sbatch: error: invalid partition specified: gpu")
    run = waiting_run(context)
    driver.advance(context, Slurm())
    failed = now(context, run)
    assert failed.status == "failed"
    assert failed.error == "SLURM refused the job: invalid partition specified: gpu"


def test_of_two_drivers_one_submits(context: Context, answer: Answer) -> None:
    run = waiting_run(context)
    assert jobs.reserve(context.engine, run, "slurm")
    assert not jobs.reserve(context.engine, run, "slurm")


def test_a_waiting_run_says_who_submits_it_and_not_that_there_is_no_worker(
    context: Context, answer: Answer
) -> None:
    run = waiting_run(context)
    said = run_progress.why_waiting(context, run)
    assert said.startswith("Nothing submits jobs to SLURM: start ganboard up, or ganboard schedule")
    reason = waiting.reasons(context, [run])[run.id]
    moment = queries.database_time(context.engine)
    shown = status.activity(run, ahead=0, workers=0, now=moment, awaited=reason)
    assert shown.startswith("Nothing submits jobs to SLURM")
    answer("sbatch", "17")
    driver.advance(context, Slurm())
    assert run_progress.why_waiting(context, now(context, run)) == "SLURM job 17 is submitted."
