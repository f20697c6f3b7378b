"""Submit, stop, resume, clone and delete runs: first the database, then the doorbell. The pages and the command line use these."""

from __future__ import annotations

import shutil
import unicodedata
from contextlib import suppress
from typing import Any

from db import commands, queries
from db.errors import UnknownRun
from db.models import Run
from gan import capabilities, presets
from gan.config import ConfigError, RunConfig, diff, parse, plan
from gan.data import catalog
from worker.context import Context
from worker.errors import BadName, QueueUnreachable
from worker.queue import ring

NAME_LENGTH = 80
CLONED = " (clone)"
# what would reorder or hide text: bidirectional controls and zero-width characters, but the joiner that emoji need
_HIDDEN = {chr(c) for c in (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200B, 0x200C, 0x200E, 0x200F, 0x061C, 0x2060, 0xFEFF)}

_ANY_MACHINE: dict[str, Any] = {"gpus": [{}] * 1024, "tpus": [""] * 1024}  # stands for a worker that has not said yet what it has


def check_name(text: str) -> str:
    """The name in Unicode NFC without surrounding blanks. Raises BadName."""
    name = unicodedata.normalize("NFC", text).strip()
    if not name:
        raise BadName("The name is empty: give the run a name, or leave it out to get one.")
    if len(name) > NAME_LENGTH:
        raise BadName(f"The name has {len(name)} characters: {NAME_LENGTH} is the limit.")
    bad = next((c for c in name if c in _HIDDEN or unicodedata.category(c) in ("Cc", "Cs", "Co", "Cn", "Zl", "Zp")), None)
    if bad is not None:
        raise BadName(f"The name contains the invisible or control character U+{ord(bad):04X}: leave it out.")
    return name


def check(context: Context, config: RunConfig, *, here: bool = False) -> None:
    """Refuse a run that cannot work: data that is absent or too small, or what no live worker's machine has.

    Raises ConfigError or DatasetError. Without a live worker only what no machine has is refused, and for a run that is trained `here`
    only the data is checked; the trainer checks again.
    """
    catalog.check(config, context.settings.data)
    plan(config, catalog.count(config, context.settings.data))
    if here:
        return
    devices = [state.worker.devices for state in queries.workers(context.engine) if state.alive and state.worker.devices]
    lacks = [capabilities.check(config, device) for device in devices or [_ANY_MACHINE]]
    if all(lacks):
        raise ConfigError(str(lacks[0]))


def submit(
    context: Context, config: RunConfig, *, name: str | None = None, preset: str = "", parent_id: str | None = None, here: bool = False
) -> Run:
    """Check, store, ring. Once this returns the run will be trained, whatever happens to Redis.

    With `here` nobody is rung: the caller trains the run at once, in its own process.
    """
    name = check_name(name) if name is not None else default_name(config, preset)
    check(context, config, here=here)
    run = commands.create_run(context.engine, name=name, config=config.model_dump(mode="json"), preset=preset, parent_id=parent_id)
    if not here:
        _ring(context, run)
    return run


def clone(context: Context, run_id: str, changes: dict[str, Any], *, name: str | None = None) -> Run:
    """A new run with the configuration of another, some settings changed."""
    parent = queries.find_run(context.engine, run_id)
    config = parse({**parent.config, **changes})
    if name is None:
        name = f"{parent.name[: NAME_LENGTH - len(CLONED)]}{CLONED}"
    return submit(context, config, name=name, preset=parent.preset, parent_id=parent.id)


def stop(context: Context, run_id: str) -> str:
    """Stop a run at its next step; returns its status now. Raises UnknownRun, NotAllowed."""
    return commands.request_stop(context.engine, run_id=run_id)


def resume(context: Context, run_id: str) -> Run:
    """Queue a stopped or failed run again. Raises UnknownRun, NotAllowed."""
    run = queries.get_run(context.engine, run_id)
    if run is None:
        raise UnknownRun(f"There is no run {run_id[:80]!r}.")
    check(context, parse(run.config))
    run = commands.resume(context.engine, run_id=run_id)
    _ring(context, run)
    return run


def delete(context: Context, run_id: str) -> None:
    """Remove a run's rows, log and checkpoints for good. Raises UnknownRun, NotAllowed."""
    commands.delete_run(context.engine, run_id=run_id)
    shutil.rmtree(context.settings.run_dir(run_id), ignore_errors=True)


def default_name(config: RunConfig, preset: str) -> str:
    """A name that says what is special: the preset or data set, and which settings of speed differ from its usual ones."""
    usual = presets.load(preset) if preset else RunConfig()
    special = diff(config.model_dump(), usual.model_dump())
    words = {"batch_size": f"batch {config.batch_size}", "precision": config.precision, "xla": "xla" if config.xla else "no xla"}
    words |= {"replicas": f"{config.replicas} replicas", "accumulate": f"accumulate {config.accumulate}", "loop": config.loop}
    words["recompute"] = "recompute"
    return ", ".join([preset or config.dataset, *(word for key, word in words.items() if key in special)])


def _ring(context: Context, run: Run) -> None:
    # without a queue the run is stored all the same: a worker's reconciler rings for it later
    with suppress(QueueUnreachable):
        ring(context.redis(), run)
