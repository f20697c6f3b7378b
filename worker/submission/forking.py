"""Fork a run: continue from one of its checkpoints with other settings, as a run of its own."""

from __future__ import annotations

import shutil
from typing import Any

from ganboard.db.errors import NotAllowed
from ganboard.db.ids import new_id
from ganboard.db.models import Run
from ganboard.db.placement import artifacts
from ganboard.db.runs import commands, forks, queries
from ganboard.gan.checkpoint import fork as checkpoints
from ganboard.gan.config import ConfigError, RunConfig, parse
from ganboard.gan.settings import registry
from ganboard.worker import placement
from ganboard.worker.artifacts import transfers
from ganboard.worker.artifacts.store import configured
from ganboard.worker.context import Context
from ganboard.worker.process import machine
from ganboard.worker.submission import naming, submit

FORKED = " (fork)"


def steps(context: Context, run_id: str) -> dict[int, int]:
    """The steps of a run's checkpoints on this machine and in the artifact store, ascending, with
    their finished epochs."""
    here = checkpoints.steps(context.settings.run_dir(run_id) / "checkpoints")
    if configured(context.settings):
        for stored in artifacts.checkpoints(context.engine, run_id):
            if stored.step is not None and stored.epoch is not None:
                here.setdefault(stored.step, stored.epoch)
    return dict(sorted(here.items()))


def refusal(context: Context, run: Run) -> str | None:
    """Why no fork of this run can be made here, None if one can."""
    if run.external:
        return commands.external_refusal(run.id)
    if missing := registry.missing(run.config):
        return missing
    if not run.steps_per_epoch or not steps(context, run.id):
        return placement.absence(context, run)
    return None


def checked(context: Context, parent: Run, step: int, config: RunConfig) -> int:
    """The epochs finished at `step`. Raises NotAllowed and ConfigError where `config` cannot
    continue the run from there."""
    if why := refusal(context, parent):
        raise NotAllowed(why)
    stored = steps(context, parent.id)
    if step not in stored:
        known = ", ".join(f"{one:,}" for one in stored)
        raise NotAllowed(
            f"Run {parent.id} has no checkpoint of step {step:,} here; it has {known}. Set"
            " keep_checkpoints to keep more."
        )
    if wrong := checkpoints.fixed(parse(parent.config), config):
        raise ConfigError(
            f"A fork cannot change {', '.join(wrong)}: its checkpoint would no longer fit. Clone"
            " the run instead."
        )
    if config.epochs <= stored[step]:
        raise ConfigError(
            f"epochs={config.epochs} leaves nothing to train after epoch {stored[step]}, which the"
            " checkpoint has finished. Increase epochs."
        )
    return stored[step]


def fork(
    context: Context,
    run_id: str,
    changes: dict[str, Any],
    *,
    step: int | None = None,
    name: str | None = None,
) -> Run:
    """Queue a run that continues `run_id` from its checkpoint of `step`, by default the newest,
    with some settings changed; until there it has the epochs, images and evaluations of that run.

    Raises as `checked` and `submit.check` do, and CheckpointError.
    """
    parent = queries.find_run(context.engine, run_id)
    if why := refusal(context, parent):
        raise NotAllowed(why)
    step = max(steps(context, parent.id)) if step is None else step
    config = parse({**parent.config, **changes})
    checked(context, parent, step, config)
    if name is None:
        name = f"{parent.name[: naming.NAME_LENGTH - len(FORKED)]}{FORKED}"
    name = naming.check_name(name)
    submit.check(context, config)
    transfers.ensure(context, parent.id, step)
    made = new_id()
    target = context.settings.run_dir(made)
    try:
        saved = checkpoints.adopt(
            context.settings.run_dir(parent.id),
            target,
            step,
            parse(parent.config),
            config,
            parent.examples or 0,
        )
        run = forks.fork(
            context.engine,
            parent_id=parent.id,
            run_id=made,
            name=name,
            config=config.model_dump(mode="json"),
            checkpoint={**vars(saved), "attempt": checkpoints.ATTEMPT},
            machine=machine.recorded(context.settings),
            owner=context.user,
        )
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)  # no row leads to it
        raise
    submit.call(context, [run])
    return run
