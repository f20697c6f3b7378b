"""A run as one JSON document: what `show --json` prints and `export` stores. Scripts rely on these
names."""

from __future__ import annotations

from typing import Any

import orjson

from ganboard.db.curves import usage
from ganboard.db.models import Epoch, Quality, Run
from ganboard.db.runs import annotations as run_annotations
from ganboard.db.runs import queries
from ganboard.gan.quality.declared import ordered
from ganboard.worker.context import Context
from ganboard.worker.rehearsal.stored import of_config


def encode(document: Any) -> bytes:
    """JSON in UTF-8, indented; what is not finite becomes null, and a loss has a `_hex` neighbour
    that says which it was."""
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_UTC_Z)


def summaries(context: Context, runs: list[Run]) -> list[dict[str, Any]]:
    """Runs without their epochs: what `runs --json` prints."""
    tags = run_annotations.tags_of(context.engine, [run.id for run in runs])
    return [_summary(context, run, tags[run.id]) for run in runs]


def _summary(context: Context, run: Run, tags: list[str]) -> dict[str, Any]:
    return {
        # first, for readers
        **{name: getattr(run, name) for name in ("id", "name", "status")},
        **run.model_dump(exclude={"lease_until"}),
        "tags": tags,
        "hardware": run.hardware or {},
        "g_loss_hex": _hex(run.g_loss),
        "d_loss_hex": _hex(run.d_loss),
        "directory": str(context.settings.run_dir(run.id)),
        "log": str(context.settings.log_path(run.id)),
    }


def document(context: Context, run: Run) -> dict[str, Any]:
    """A run with all its finished epochs and all evaluations of its images."""
    return {
        **summaries(context, [run])[0],
        "epochs": [_epoch(epoch) for epoch in queries.epochs(context.engine, run.id)],
        "quality": [quality(evaluated) for evaluated in queries.qualities(context.engine, run.id)],
    }


def live_document(context: Context, run: Run) -> dict[str, Any]:
    """`document`, and for how long the run has been in its phase."""
    seconds = queries.phase_seconds(context.engine, run)
    return {**document(context, run), "phase_seconds": seconds}


def complete_document(context: Context, run: Run) -> dict[str, Any]:
    """A run with its epochs, events, checkpoints, grids (their pictures are files), samples of the
    machine, oldest first, and the rehearsals of its settings."""
    from ganboard.db.curves import logged  # with numpy, which lists of runs do without

    events = queries.events(context.engine, run.id, limit=None)[::-1]
    return {
        **document(context, run),
        "events": [event.model_dump(exclude={"id", "run_id"}) for event in events],
        "checkpoints": [
            checkpoint.model_dump(exclude={"run_id"})
            for checkpoint in queries.checkpoints(context.engine, run.id)
        ],
        "grids": [
            grid.model_dump(exclude={"run_id", "png"})
            for grid in queries.grids(context.engine, run.id)
        ],
        "samples": [
            sample.model_dump(exclude={"run_id"})
            for sample in queries.samples(context.engine, run.id)
        ],
        "usage": [
            used.model_dump(exclude={"run_id"})
            for used in usage.of_run(context.engine, run.id, points=None)
        ],
        "histograms": [
            {
                **histogram.model_dump(include={"name", "step", "time"}),
                "edges": histogram.edges.tolist(),
                "counts": histogram.counts.tolist(),
            }
            for histogram in logged.histograms(context.engine, run.id)
        ],
        "rehearsals": of_config(context.engine, run.config),
    }


def _epoch(epoch: Epoch) -> dict[str, Any]:
    return {
        **epoch.model_dump(exclude={"run_id"}),
        "g_loss_hex": _hex(epoch.g_loss),
        "d_loss_hex": _hex(epoch.d_loss),
        "images_per_second": epoch.images / epoch.seconds if epoch.seconds else None,
    }


def quality(evaluated: Quality) -> dict[str, Any]:
    """One evaluation."""
    return {
        **evaluated.model_dump(exclude={"run_id", "histogram"}, exclude_none=True),
        **ordered(evaluated.measures),
        "histogram": evaluated.histogram.tolist(),
    }


def _hex(loss: float | None) -> str | None:
    return None if loss is None else loss.hex()
