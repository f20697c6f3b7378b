"""Submit, stop, resume and clone runs: first the database, then the queue. The pages and the
command line use these."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ganboard.db import heartbeats
from ganboard.db.errors import NotAllowed, UnknownRun
from ganboard.db.models import WORKERS, Run
from ganboard.db.runs import commands, past_runs, queries
from ganboard.db.runs.runtime_estimation import History
from ganboard.gan.config import ConfigError, RunConfig, parse, plan
from ganboard.gan.devices import capabilities
from ganboard.gan.settings import registry
from ganboard.gan.settings.metadata import speed_settings
from ganboard.worker.context import Context
from ganboard.worker.errors import QueueUnreachable
from ganboard.worker.submission import starting
from ganboard.worker.submission.naming import NAME_LENGTH, check_name, default_name

CLONED = " (clone)"

# used for a worker that has not reported its hardware yet
_ANY_MACHINE: dict[str, Any] = {"gpus": [{}] * 1024, "tpus": [""] * 1024}


@dataclass(frozen=True)
class Machines:
    """The live workers, and the machines of those that said what they have, as
    `gan.devices.hardware.describe` gives it."""

    workers: int
    devices: list[dict[str, Any]]

    def refusal(self, config: RunConfig) -> str | None:
        """Why none of them can run `config`, None if one can; without a worker only what no machine
        can do is refused."""
        lacks = [capabilities.check(config, device) for device in self.devices or [_ANY_MACHINE]]
        return None if None in lacks else lacks[0]

    def able(self, config: RunConfig) -> dict[str, Any] | None:
        """The first of them that can run `config`."""
        return next(
            (device for device in self.devices if capabilities.check(config, device) is None), None
        )


def machines(context: Context) -> Machines:
    """What the live workers have."""
    alive = [state.worker for state in heartbeats.workers(context.engine) if state.alive]
    return Machines(len(alive), [worker.devices for worker in alive if worker.devices])


def run_history(context: Context) -> History:
    """What stored runs took, from which that of others is estimated."""
    return History(past_runs.measured_runs(context.engine), speed_settings())


def check(context: Context, config: RunConfig, *, here: bool = False) -> None:
    """Refuse a run that cannot work: data that is absent or too small, an evaluation without its
    weights, or what no live worker's machine has.

    Raises ConfigError or DatasetError. Without a live worker only what no machine has is refused,
    and for a run that is trained `here` only the data is checked; the trainer checks again.
    """
    from ganboard.gan.data import catalog
    from ganboard.gan.quality import choice

    catalog.check(config, context.settings.data)
    choice.check(config, context.settings.data)
    plan(config, catalog.count(config, context.settings.data))
    if config.placement != WORKERS:
        if context.engine.dialect.name != "postgresql":
            raise ConfigError(
                f"placement={config.placement} needs a database that the nodes of the cluster"
                " reach: set GANBOARD_DATABASE_URL to one of PostgreSQL."
            )
    elif not here and (refusal := machines(context).refusal(config)):
        raise ConfigError(refusal)


def submit(
    context: Context,
    config: RunConfig,
    *,
    name: str | None = None,
    preset: str = "",
    parent_id: str | None = None,
    here: bool = False,
    priority: int = 0,
) -> Run:
    """Check, store, enqueue. Once this returns the run will be trained, whatever happens to Redis.

    With `here` nothing is enqueued: the caller trains the run at once, in its own process.
    """
    config = starting.checked(context, config)
    name = check_name(name) if name is not None else default_name(config, preset)
    check(context, config, here=here)
    run = commands.create_run(
        context.engine,
        name=name,
        config=config.model_dump(mode="json"),
        preset=preset,
        parent_id=parent_id,
        owner=context.user,
        priority=priority,
    )
    if not here:
        call(context, [run])
    return run


def clone(
    context: Context, run_id: str, changes: dict[str, Any], *, name: str | None = None
) -> Run:
    """A new run with the configuration of another, some settings changed."""
    parent = queries.find_run(context.engine, run_id)
    if parent.external:
        raise NotAllowed(commands.external_refusal(parent.id))
    config = parse({**parent.config, **changes})
    if name is None:
        name = f"{parent.name[: NAME_LENGTH - len(CLONED)]}{CLONED}"
    return submit(context, config, name=name, preset=parent.preset, parent_id=parent.id)


def stop(context: Context, run_id: str) -> str:
    """Stop a run at its next step; returns its status now. Raises UnknownRun, NotAllowed."""
    return commands.request_stop(context.engine, run_id=run_id)


def resume(context: Context, run_id: str, without: str | None = None) -> Run:
    """Queue a stopped or failed run again, its checkpoints on the machine `without` given up.
    Raises UnknownRun, NotAllowed, and ConfigError where its model's code has changed."""
    run = queries.get_run(context.engine, run_id)
    if run is None:
        raise UnknownRun(f"There is no run {run_id[:80]!r}.")
    if run.external:
        raise NotAllowed(commands.external_refusal(run.id))
    config = parse(run.config)
    registry.check_source(config, run.facts, run.id)
    check(context, config)
    run = commands.resume(context.engine, run_id=run_id, without=without)
    call(context, [run])
    return run


def call(context: Context, runs: Sequence[Run]) -> None:
    """Enqueue stored runs. Without a queue they still wait: a worker's reconciler enqueues them
    later."""
    from ganboard.worker.queue.enqueue import enqueue_run

    with suppress(QueueUnreachable):
        connection = context.redis()
        for run in runs:
            if run.placement == WORKERS:  # drivers of other schedulers look into the database
                enqueue_run(connection, run)
