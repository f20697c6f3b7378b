"""SLURM, by its own commands (slurm.schedmd.com: sbatch, squeue, scontrol, scancel)."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Collection, Mapping

from ganboard.db.models import Run
from ganboard.db.settings import Settings
from ganboard.gan.scheduler_options import slurm_options
from ganboard.worker.context import Context
from ganboard.worker.placement.waiting import TITLES
from ganboard.worker.schedulers.scheduler import JobState, SchedulerAway, SchedulerRefused

COMMAND_SECONDS = 60.0
# before the time limit: rank 0 saves a checkpoint, and a new job goes on
WARNING_SECONDS = 90
_PREFIX = re.compile(r"^[a-z]+: (error: |fatal: )?")
_AWAY = re.compile(
    r"unable to contact|socket timed out|connection refused|zero bytes|temporarily|"
    r"communication connection failure|unexpected message|configuration source",
    re.IGNORECASE,
)
# slurm.schedmd.com/squeue.html, "Job state codes": those of jobs that have ended
_ENDED = frozenset(
    [
        "BOOT_FAIL",
        "CANCELLED",
        "COMPLETED",
        "DEADLINE",
        "FAILED",
        "NODE_FAIL",
        "OUT_OF_MEMORY",
        "PREEMPTED",
        "REVOKED",
        "TIMEOUT",
    ]
)


class Slurm:
    """The cluster that SLURM's commands on this machine reach."""

    name = "slurm"
    title = TITLES["slurm"]
    missing = "sbatch is not installed, or not on PATH"

    @staticmethod
    def available(settings: Settings) -> bool:
        return shutil.which("sbatch") is not None

    def submit(self, context: Context, run: Run) -> str:
        hosts = int(run.config.get("hosts") or 1)
        folder = context.settings.run_dir(run.id)
        folder.mkdir(parents=True, exist_ok=True)
        command = [
            "sbatch",
            "--parsable",
            f"--job-name={_job_name(run)}",
            f"--nodes={hosts}",
            "--ntasks-per-node=1",
            "--requeue",
            "--open-mode=append",
            f"--output={folder}/slurm-%j.log",
            f"--signal=TERM@{WARNING_SECONDS}",
            *slurm_options(str(run.config.get("scheduler_options") or "")),
        ]
        node = [sys.executable, "-m", "ganboard.worker.schedulers.node", run.id]
        script = f"#!/bin/sh\nexec srun --kill-on-bad-exit=1 {shlex.join(node)}\n"
        environment = {**os.environ, "GANBOARD_HOME": str(context.settings.state)}
        printed = _run(command, script, environment)
        return printed.strip().partition(";")[0]

    def find(self, run: Run) -> str | None:
        listed = _run(["squeue", "--noheader", "--format=%i", f"--name={_job_name(run)}"])
        return next(iter(listed.split()), None)

    def states(self, job_ids: Collection[str]) -> Mapping[str, JobState]:
        listed = _run(["squeue", "--noheader", "--states=all", "--format=%i|%T|%r"])
        rows = (line.strip().split("|", 2) for line in listed.splitlines())
        return {
            number: _state(state, reason)
            for number, state, reason in (row for row in rows if len(row) == 3)
            if number in job_ids
        }

    def cancel(self, job_id: str) -> None:
        _run(["scancel", "--quiet", job_id])


def _state(state: str, reason: str) -> JobState:
    words = "" if reason == "None" else reason
    return JobState(state, words, state in _ENDED, cancelled=state == "CANCELLED")


def _job_name(run: Run) -> str:
    return f"ganboard-{run.id}"


def _run(command: list[str], text: str = "", environment: Mapping[str, str] | None = None) -> str:
    try:
        done = subprocess.run(
            command,
            input=text,
            env=environment,
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise SchedulerAway(f"{command[0]} did not answer within {COMMAND_SECONDS:.0f} s") from None
    except OSError as error:
        raise SchedulerAway(f"{command[0]} cannot be started: {error.strerror}") from None
    if done.returncode == 0:
        return done.stdout
    lines = [_PREFIX.sub("", line).strip() for line in done.stderr.splitlines()]
    said = "; ".join(filter(None, lines)) or f"{command[0]} ended with exit code {done.returncode}"
    raise (SchedulerAway if _AWAY.search(said) else SchedulerRefused)(said[:500])
