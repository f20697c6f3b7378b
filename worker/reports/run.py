"""A run as one HTML file that needs nothing else: settings, machine, curves, images, events,
diagnosis, and the command that repeats it."""

from __future__ import annotations

import base64
import importlib.metadata
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from ganboard.db.curves import logged, series
from ganboard.db.models import ENDED, Run
from ganboard.db.runs import annotations as run_annotations
from ganboard.db.runs import queries
from ganboard.gan.config import config_class
from ganboard.gan.events import FACTS, MEASURES, SERIES, UNLISTED
from ganboard.gan.quality import declared
from ganboard.gan.settings.features import recorded
from ganboard.gan.settings.metadata import about, fields_by_group
from ganboard.worker import diagnosis, formatting
from ganboard.worker.context import Context
from ganboard.worker.figures import losses, quality, system, timings
from ganboard.worker.figures import rates as rate_figures
from ganboard.worker.reports import page
from ganboard.worker.reports.command import repeat

TEMPLATE = Path(__file__).with_name("run.html")
PICTURES = 12  # of generated images, evenly over the epochs
EVENTS = 200  # the newest
METRICS = 12  # of a script
REAL_IMAGES = -1  # the epoch of their grid

Section = tuple[str, list[Any], str, list[Sequence[str]]]  # title, figures, how, table with heading


def render(context: Context, run: Run) -> str:
    """The HTML."""
    engine = context.engine
    command, command_note = repeat(run)
    unexplained = diagnosis.unexplained(run)
    found = None if unexplained else diagnosis.explained(engine, run)
    events = queries.events(engine, run.id, limit=None)
    return page.render(
        TEMPLATE,
        run=run,
        status=formatting.status_word(run.status),
        ended=run.status in ENDED,
        tags=run_annotations.tags_of(engine, [run.id])[run.id],
        version=importlib.metadata.version("ganboard"),
        made_at=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        summary=_summary(run),
        command=command,
        command_note=command_note,
        unexplained=unexplained,
        findings=found.findings if found else [],
        checked="; ".join(found.checked) if found else "",
        sections=list(_sections(engine, run)),
        pictures=_pictures(engine, run.id),
        pictures_note="Generated from the same latents after each epoch, so that they can be"
        f" compared; at most {PICTURES} epochs. Real images are the first of the data set.",
        hardware=list(_flat(run.hardware or {})),
        events=[
            (f"{one.at:%Y-%m-%d %H:%M:%S}", one.level, one.attempt, one.text)
            for one in events[:EVENTS]
        ],
        more_events=max(0, len(events) - EVENTS),
        settings=settings(run),
    )


def settings(run: Run) -> list[tuple[str, str, str, str]]:
    """Name, value, default and unit of every setting; those that differ from their default
    first."""
    rows: list[tuple[str, str, str, str]] = []
    known = {} if run.external else _fields(run)
    for name, field in known.items():
        value = run.config.get(name, field.default)
        mark = "● " if value != field.default else ""
        rows.append((f"{mark}{name}", _words(value), _words(field.default), about(name).unit))
    rows += [
        (f"● {name}", _words(value), "", "")
        for name, value in run.config.items()
        if name not in known
    ]
    return sorted(rows, key=lambda row: not row[0].startswith("●"))


def _fields(run: Run) -> dict[str, Any]:
    own = config_class(run.config).model_fields
    groups = fields_by_group(run.config).values()
    return {name: field for group in groups for name, field in group.items() if name in own}


def _summary(run: Run) -> list[tuple[str, str]]:
    config = run.config
    planned = "" if run.external else f" of {config.get('epochs', '?')}"
    per_epoch = run.seconds / run.epoch if run.epoch else None
    rows = [
        ("Model and data", f"{config.get('model', 'of a script')}, {config.get('dataset', '–')}"),
        ("Preset", run.preset),
        ("Epochs", f"{run.epoch}{planned}"),
        ("Steps", f"{run.step:,}"),
        ("Training time", f"{formatting.duration(run.seconds or None)}, without compilation"),
        ("Seconds per epoch", formatting.duration(per_epoch)),
        ("Images per second", formatting.rate(run.images_per_second)),
        ("Generator loss", formatting.decimal(run.g_loss)),
        ("Discriminator loss", formatting.decimal(run.d_loss)),
        ("Attempts", str(run.attempt)),
    ]
    return [(name, value) for name, value in rows if value]


def _sections(engine: Engine, run: Run) -> list[Section]:
    made = [_losses(engine, run), *([] if run.external else [_quality(engine, run)])]
    return [*made, _timings(engine, run), *_rates(engine, run), *_system(engine, run)]


def _losses(engine: Engine, run: Run) -> Section:
    marks = series.events_frame(engine, run.id)
    steps = series.step_losses(engine, run.id, smoothing=0.9)
    done = series.epochs_frame(engine, [run.id])
    plots = []
    if not steps.empty:
        plots.append(losses.steps(steps, smoothed=True, events=marks))
    if not done.empty and done["g_loss"].notna().any():
        plots.append(losses.epochs(done))
    if run.external:
        names = logged.names(engine, run.id)[:METRICS]
        plots += [losses.metric(logged.frame(engine, run.id, one), one) for one in names]
    how = "Curves are smoothed by 0.9; the ribbon is the range of the raw losses of the steps."
    drawn = [page.figure(plot, f"losses-{place}") for place, plot in enumerate(plots)]
    return "Losses", drawn, how if plots else "No step was recorded.", []


def _quality(engine: Engine, run: Run) -> Section:
    model = quality.model_of(run.config)
    frame = series.quality_frame(engine, [run.id], declared.METRICS)
    if frame.empty or model not in declared.OF_MODEL:
        return "Quality", [], "This run was not evaluated (quality_every, or Evaluate).", []
    source, main = recorded(run.facts), declared.headline(model)
    drawn = [
        page.figure(quality.course(frame, names, x="epoch"), f"quality-{names[0]}")
        for names in declared.charts(model)
    ]
    rows: list[Sequence[str]] = [("Metric", "Best", "After epoch", "Last", "Meaning")]
    for name, metric in declared.OF_MODEL[model].items():
        values = frame[frame[name].notna()]
        if values.empty:
            continue
        last = page.cell(float(values[name].iloc[-1]))
        best, epoch = "", ""
        if metric.better:
            ranked = values.sort_values(name, ascending=metric.better == "lower", kind="stable")
            best, epoch = page.cell(float(ranked[name].iloc[0])), str(ranked["epoch"].iloc[0])
        rows.append((metric.called(source), best, epoch, last, metric.meaning))
    amount = run.config.get("quality_images")
    how = f"{source.description} " if main.by_features else ""
    how += f"{formatting.plural(len(frame), 'evaluation')}"
    how += f" of up to {amount:,} generated images each." if amount else "."
    return "Quality", drawn, how, rows


def _timings(engine: Engine, run: Run) -> Section:
    done, measures = series.epochs_frame(engine, [run.id]), series.measures_frame(engine, [run.id])
    if done.empty:
        return "Timings", [], "No epoch was finished.", []
    both = done.merge(measures, on=["run_id", "epoch"])
    plots = [timings.seconds(both), timings.throughput(done, x="epoch")]
    rows: list[Sequence[str]] = [("Latest epoch", "Value")]
    newest = measures.iloc[-1]
    for name, label in MEASURES.items():
        if name in newest and newest[name] == newest[name]:
            rows.append((label, formatting.fact(name, float(newest[name]))))
    for name, value in run.facts.items():
        if name in FACTS and name not in UNLISTED:
            rows.append((FACTS[name], formatting.fact(name, value)))
    how = (
        "Wall-clock time of the training steps; tracing and compilation are measured separately."
        " Times are in seconds."
    )
    drawn = [page.figure(plot, f"timings-{place}") for place, plot in enumerate(plots)]
    return "Timings", drawn, how, rows if len(rows) > 1 else []


def _rates(engine: Engine, run: Run) -> list[Section]:

    frame = series.step_series(engine, run.id, list(SERIES))
    if frame.empty:
        return []
    how = "Dashed: as set by schedule, warm-up and batch scaling. Solid: what the optimizer does."
    return [("Learning rates", [page.figure(rate_figures.rates(frame), "rates")], how, [])]


def _system(engine: Engine, run: Run) -> list[Section]:
    samples = series.samples_frame(engine, run.id)
    if samples.empty:
        return []
    plots = [system.load(samples), system.memory(samples)]
    drawn = [page.figure(plot, f"system-{place}") for place, plot in enumerate(plots)]
    how = (
        "Sampled by the trainer every few seconds. Processors and memory are shares of the whole"
        " machine, including other programs."
    )
    return [("Use of the machine", drawn, how, [])]


def _pictures(engine: Engine, run_id: str) -> list[tuple[str, str]]:
    """Captions and data addresses: the real images, then generated ones over the epochs."""
    epochs = queries.grid_epochs(engine, run_id)
    count = min(PICTURES, len(epochs))
    places = [round(i * (len(epochs) - 1) / max(1, count - 1)) for i in range(count)]
    chosen = [epochs[place] for place in places]
    found = []
    for epoch in [REAL_IMAGES, *chosen]:
        grid = queries.grid(engine, run_id, epoch)
        if grid is not None:
            caption = "Real images" if epoch == REAL_IMAGES else f"Epoch {epoch}"
            encoded = base64.b64encode(grid.png).decode()
            found.append((caption, f"data:image/png;base64,{encoded}"))
    return found


def _flat(value: Any, name: str = "") -> list[tuple[str, str]]:
    """Nested mappings and lists as rows."""
    if isinstance(value, dict):
        return [row for key, one in value.items() for row in _flat(one, f"{name} {key}".strip())]
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [
            row for place, one in enumerate(value) for row in _flat(one, f"{name} {place}".strip())
        ]
    return [(name, formatting.fact(name, value) if value is not None else "unknown")]


def _words(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return "none" if value is None else str(value)
