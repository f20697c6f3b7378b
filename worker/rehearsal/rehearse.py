"""`ganboard rehearse`: a configuration compiled for devices that are not here, and what that says
of it there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from ganboard.db import rehearsals
from ganboard.gan.config import ConfigError, RunConfig
from ganboard.gan.rehearsal import report as reports
from ganboard.gan.rehearsal.targets import Form, Target
from ganboard.worker.context import Context
from ganboard.worker.rehearsal import environment, largest_batch
from ganboard.worker.rehearsal.compilation import Compiler

_POLL_SECONDS = 1.0


@dataclass(frozen=True)
class Options:
    """What the command was asked."""

    targets: Sequence[Target]
    precisions: Sequence[str]
    form: Form = "step"
    largest: bool = True  # also search for the largest batch


@dataclass(frozen=True)
class Job:
    """One compilation of a step, before the search for the largest batch."""

    target: Target
    config: RunConfig


class Watcher:
    """Receives progress; this one ignores it."""

    def say(self, sentence: str) -> None: ...

    def doing(self, number: int, of: int, text: str) -> None: ...

    def done(self, report: dict[str, Any]) -> None: ...


def rehearse(
    context: Context, config: RunConfig, options: Options, watcher: Watcher
) -> list[dict[str, Any]]:
    """Reports of `config` on each target in each precision, stored as they come.

    Raises ConfigError where it cannot divide among the devices of any target, before anything is
    compiled, and ServiceFailed without disk, memory or network.
    """
    jobs = _jobs(config, options)
    found = []
    with compiler(context, watcher) as compiling:
        for number, job in enumerate(jobs, 1):

            def doing(text: str, number: int = number, job: Job = job) -> None:
                about = f"{job.target.name}, {job.config.model}, {job.config.precision}"
                watcher.doing(number, len(jobs), f"{about}: {text}")

            began = time.time()
            report = compiling.report(job.target, job.config, options.form, doing)
            if options.largest and _by_memory(job, report):
                report["largest_batch"] = _largest(compiling, job, options.form, report, doing)
            report |= {"at": began, "seconds": round(time.time() - began, 1)}
            rehearsals.store(context.engine, reports.key(job.config), job.target.name, report)
            found.append(report)
            watcher.done(report)
    return found


@contextmanager
def compiler(context: Context, watcher: Watcher) -> Iterator[Compiler]:
    """A compiler that no other process uses meanwhile; raises ServiceFailed without disk or
    network."""
    python = environment.python(context.settings, watcher.say)
    root = environment.folder(context.settings)
    with (
        _alone(root / "rehearse.lock", watcher.say),
        Compiler(python, root / "compiled", root / "rehearse.log") as compiling,
    ):
        yield compiling


def _jobs(config: RunConfig, options: Options) -> list[Job]:
    """Every target in every precision; raises ConfigError for the first that cannot be."""
    configs = [config.model_copy(update={"precision": p}) for p in options.precisions]
    found = [Job(target, target.adapted(one)) for target in options.targets for one in configs]
    for job in found:
        if options.form == "gradients" and job.target.about.kind == "tpu":
            raise ConfigError(
                f"{job.target.name}: a TPU always compiles the whole step: leave out"
                " --form gradients."
            )
    return found


def _by_memory(job: Job, report: dict[str, Any]) -> bool:
    """Whether a smaller or larger batch is a question: it compiled, or memory was the reason."""
    return bool(report["compiles"]) or largest_batch.too_large(report)


def _largest(
    compiling: Compiler, job: Job, form: Form, report: dict[str, Any], doing: Callable[[str], None]
) -> dict[str, Any]:
    def compiled(batch: int) -> dict[str, Any]:
        config = job.config.model_copy(update={"batch_size": batch, "limit": None})
        return compiling.report(
            job.target, config, form, lambda text: doing(f"batch {batch:,}: {text}")
        )

    unit = job.config.replicas * job.config.accumulate
    return largest_batch.search(report, unit, job.target.about.kind, compiled)


@contextmanager
def _alone(path: Path, say: Callable[[str], None]) -> Iterator[None]:
    """Two rehearsals at once would take twice the memory and no less time: the second waits."""
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        say("Another rehearsal is running here; this one starts when it has ended.")
        lock.acquire(poll_interval=_POLL_SECONDS)
    try:
        yield
    finally:
        lock.release()
