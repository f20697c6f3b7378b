"""How the command line shows one run. What people wrote is shown as it is, never as markup or
control codes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from rich import box
from rich.console import Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from ganboard.db.models import Checkpoint, Epoch, Event, Quality, Run
from ganboard.db.placement import artifacts
from ganboard.db.runs import queries
from ganboard.gan.config import config_class
from ganboard.gan.events import FACTS, UNLISTED
from ganboard.gan.quality.declared import METRICS
from ganboard.gan.settings.features import recorded
from ganboard.gan.settings.metadata import defaults, fields_by_group
from ganboard.worker.context import Context
from ganboard.worker.formatting import clean, decimal, duration, fact, quality_summary, rate
from ganboard.worker.terminal.console import make_console
from ganboard.worker.terminal.runs import status_text

NEWEST_EPOCHS = 10
NEWEST_EVENTS = 5
IN_STORE = "in the artifact store; the page of the run and `ganboard export` fetch it"
PARTS = {
    "compute_seconds": "computing",
    "reduce_seconds": "all-reduce",
    "input_seconds": "waiting for images",
    "host_seconds": "host",
}


def print_run(
    context: Context,
    run: Run,
    epochs: Sequence[Epoch],
    checkpoints: Sequence[Checkpoint],
    events: Sequence[Event],
) -> None:
    """Everything about one run on one screen; `events` newest first."""
    facts = Table.grid(padding=(0, 2))
    for label, value in [
        *_facts(context, run, checkpoints),
        *_measured(run, epochs, queries.qualities(context.engine, run.id)),
    ]:
        facts.add_row(Text(label, style="dim"), value)
    parts: list[Any] = [facts]
    if epochs:
        parts += [Text(""), _epoch_table(epochs[-NEWEST_EPOCHS:])]
        if len(epochs) > NEWEST_EPOCHS:
            parts.append(
                Text(
                    f"the latest {NEWEST_EPOCHS} of {len(epochs)} epochs; use --json for all",
                    style="dim",
                )
            )
    if events:
        parts.append(Text(""))
        parts += [
            Text(f"{event.at:%Y-%m-%d %H:%M:%S}  {clean(event.text)}")
            for event in events[:NEWEST_EVENTS][::-1]
        ]
    title = Text(f" {clean(run.name)} ", style="bold")
    make_console().print(
        Panel(Group(*parts), title=title, title_align="left", expand=False, padding=(1, 2))
    )


def _facts(
    context: Context, run: Run, checkpoints: Sequence[Checkpoint]
) -> Iterable[tuple[str, Text]]:
    yield (
        "run",
        Text(
            run.id
            + (f", preset {run.preset}" if run.preset else "")
            + (f", cloned from {run.parent_id}" if run.parent_id else "")
        ),
    )
    phase = f" ({_phase(context, run)})" if run.phase else ""
    yield "status", status_text(run).append(phase).append(f", attempt {run.attempt}", style="dim")
    owner = f", owner {clean(run.owner)}" if run.owner else ""
    yield "queue", Text(f"priority {run.priority}{owner}", overflow="fold")
    if run.error:
        yield "error", Text(clean(run.error), style="red")
    yield (
        "progress",
        Text(
            f"epoch {run.epoch} of {run.config.get('epochs', '?')}, step {run.step}, trained for"
            f" {duration(run.seconds)}" + (" by a script" if run.external else "")
        ),
    )
    yield (
        "losses",
        Text(
            f"G {decimal(run.g_loss)}, D {decimal(run.d_loss)} at {rate(run.images_per_second)}"
            " images/s"
        ),
    )
    usual = defaults(run.config)
    for group, names in {
        **{g: list(fields) for g, fields in fields_by_group(run.config).items()},
        "Other": _unknown(run.config),
    }.items():
        pairs = [
            _assignment(name, value, usual.get(name, ...) == value)
            for name in names
            if (value := run.config.get(name, ...)) is not ...
        ]
        if pairs:
            yield group.lower(), Text(" ").join(pairs)
    if run.hardware:
        yield "hardware", Text(clean(_hardware(run.hardware)))
    if checkpoints:
        newest = checkpoints[-1]
        yield (
            "newest",
            Text(
                f"checkpoint of step {newest.step} (epoch {newest.epoch}), {newest.size / 1e6:.1f}"
                f" MB, {len(checkpoints)} kept"
            ),
        )
    yield (
        "checkpoints",
        Text(str(context.settings.run_dir(run.id) / "checkpoints"), overflow="fold"),
    )
    log = context.settings.log_path(run.id)
    stored = not log.exists() and artifacts.logs(context.engine, run.id)
    yield "log", Text(IN_STORE if stored else str(log), overflow="fold")


def _phase(context: Context, run: Run) -> str:
    from ganboard.worker.training import start  # few listings need it, and it loads nine modules

    assert run.phase is not None, "asked of runs that are in a phase"
    starting = start.seconds_of_start(run, queries.database_time(context.engine))
    if starting is not None:
        return start_words(run.phase, starting)
    done = f": {clean(run.phase_progress)}" if run.phase_progress else ""
    return f"{run.phase} for {duration(queries.phase_seconds(context.engine, run))}{done}"


def start_words(phase: str, seconds: float) -> str:
    """What a run does that is in this phase of its start for so long, and whether that is slow."""
    from ganboard.worker.training.start import PHASES, SLOW, SLOW_SECONDS

    return f"{PHASES[phase]}, {duration(seconds)}{f' ({SLOW})' if seconds >= SLOW_SECONDS else ''}"


def _features(run: Run, evaluated: Quality) -> str:
    """Which features the numbers come from, in parentheses."""
    if any(METRICS[name].by_features for name in evaluated.measures if name in METRICS):
        return f" ({recorded(run.facts).label} features)"
    return ""


def _measured(
    run: Run, epochs: Sequence[Epoch], qualities: Sequence[Quality]
) -> Iterable[tuple[str, Text]]:
    if spent := time_spent(epochs, qualities):
        yield "time", Text(spent)
    if qualities:
        yield (
            "quality",
            Text(
                f"{quality_summary(qualities[-1].measures)} after epoch {qualities[-1].epoch}"
                f"{_features(run, qualities[-1])}"
            ),
        )
    listed = {name: value for name, value in run.facts.items() if name not in UNLISTED}
    for name, value in sorted(listed.items(), key=lambda item: [*FACTS, item[0]].index(item[0])):
        meaning = Text(f"  {FACTS[name]}" if name in FACTS else "", style="dim")
        yield (
            clean(name.removesuffix("_bytes").replace("_", " ")),
            Text(clean(fact(name, value))).append(meaning),
        )


def time_spent(epochs: Sequence[Epoch], qualities: Sequence[Quality]) -> str:
    """Where the time of all epochs went, on one line; empty when no epoch was measured."""
    parts = {
        text: sum(epoch.measures.get(name, 0.0) for epoch in epochs) for name, text in PARTS.items()
    }
    whole = sum(parts.values())
    if not whole:
        return ""
    shares = ", ".join(
        f"{text} {share / whole:.0%}" for text, share in parts.items() if share / whole >= 0.005
    )
    rest = {
        "compiling": sum(epoch.compile_seconds for epoch in epochs),
        "preparing evaluation": sum(evaluated.preparation_seconds or 0 for evaluated in qualities),
        "evaluating quality": sum(evaluated.seconds for evaluated in qualities),
    }
    beside = ", ".join(f"{duration(seconds)} {text}" for text, seconds in rest.items() if seconds)
    return f"{shares}" + (f"; beside that {beside}" if beside else "")


def _unknown(config: dict[str, Any]) -> list[str]:
    return [name for name in config if name not in config_class(config).model_fields]


def _assignment(name: str, value: Any, usual: bool) -> Text:
    return Text(clean(f"{name}={json.dumps(value)}"), style="dim" if usual else "bold")


def _hardware(hardware: dict[str, Any]) -> str:
    versions = hardware.get("versions") or {}
    gpus = [str(gpu.get("name")) for gpu in hardware.get("gpus") or []]
    return ", ".join(
        str(part)
        for part in (
            hardware.get("host"),
            hardware.get("cpu"),
            *gpus,
            *(f"{k} {v}" for k, v in versions.items()),
        )
        if part  # a script's machine is known by its name alone
    )


def _epoch_table(epochs: Sequence[Epoch]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("epoch", "G loss", "D loss", "seconds", "compiling", "images/s"):
        table.add_column(heading, justify="right")
    for epoch in epochs:
        speed = epoch.images / epoch.seconds if epoch.seconds else None
        cells = (
            decimal(epoch.g_loss),
            decimal(epoch.d_loss),
            f"{epoch.seconds:.2f}",
            f"{epoch.compile_seconds:.1f}",
            rate(speed),
        )
        table.add_row(str(epoch.epoch), *cells)
    return table
