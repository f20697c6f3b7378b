"""What a trainer may report: values that are not finite, huge, backwards or before 1970 are stored,
shown and exported."""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from sqlalchemy import update
from sqlmodel import Session, col

from ganboard.db.curves import series
from ganboard.db.models import Epoch, Run, SystemSample
from ganboard.db.runs import commands, queries, reports
from ganboard.worker.context import Context
from ganboard.worker.interchange.document import complete_document, encode
from ganboard.worker.interchange.export import TABLES
from tests.fuzz.cases import count, fuzzed
from tests.ui.pages import open_page

MakeRun = Callable[..., Run]
# numpy's word on an overflow, which the figures show
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
EDGES = [0.0, -0.0, np.nan, np.inf, -np.inf, 3.4e38, -3.4e38, 1e-45, 1.0, -1.0]
FLOAT32 = st.sampled_from(EDGES) | st.floats(width=32)
FLOAT = FLOAT32 | st.floats() | st.sampled_from([1e308, -1e308, 5e-324])
LOSSES = st.lists(FLOAT32, min_size=1, max_size=8)
NAMES = st.sampled_from(["g_rate", "d_rate", "g_effective", "x" * 300, "", "<b>", "\u202e", "'"])
VIEWS = [
    "Losses",
    "Images",
    "Quality",
    "Timings",
    "Rates",
    "Histograms",
    "Descent path",
    "System",
    "Events",
]


def running(context: Context, make_run: MakeRun) -> dict[str, Any]:
    """A run of 4 steps per epoch that trains, its epochs forgotten when there are too many."""
    found = queries.list_runs(context.engine, statuses=("running",), limit=1)
    run = (
        found[0]
        if found
        else make_run(status="running", epochs=1, steps_per_epoch=4, quality_every=1)
    )
    return {"run_id": run.id, "attempt": run.attempt}


def exported(context: Context, run_id: str) -> None:
    """All that leaves the database can be written and read again."""
    run = queries.get_run(context.engine, run_id)
    assert run is not None
    assert encode(complete_document(context, run)).decode()
    for lines in TABLES.values():
        rows = list(csv.reader(io.StringIO("".join(lines(context, run)), newline="")))
        assert len({len(row) for row in rows}) == 1


@fuzzed(
    2,
    epoch=st.integers(1, 3),
    first=st.integers(0, 8),
    losses=LOSSES,
    further=st.dictionaries(NAMES, LOSSES, max_size=2),
    rate=st.none() | FLOAT,
)
def test_steps_are_stored_to_the_bit(
    context: Context,
    make_run: MakeRun,
    epoch: int,
    first: int,
    losses: list[float],
    further: dict[str, list[float]],
    rate: float | None,
) -> None:
    own = running(context, make_run)
    known = queries.step_losses(context.engine, own["run_id"], epoch)
    # backwards, over what is there, or just behind it
    first = min(first, 0 if known is None else len(known.g_losses))
    values = np.array(losses, np.float32)
    added = {name: np.array(given, np.float32) for name, given in further.items()}
    reports.append_steps(
        context.engine,
        **own,
        epoch=epoch,
        first=first,
        g_losses=values,
        d_losses=-values,
        series=added,
        images_per_second=rate,
    )
    stored = queries.step_losses(context.engine, own["run_id"], epoch)
    assert stored is not None
    assert stored.g_losses[first : first + len(values)].tobytes() == values.tobytes()
    back = queries.step_series(context.engine, own["run_id"], epoch)
    for name, given in added.items():
        assert back[name][first : first + len(given)].tobytes() == given.tobytes()
    frame = series.step_losses(context.engine, own["run_id"], points=100, smoothing=0.5)
    assert len(frame) <= 400
    series.step_series(context.engine, own["run_id"], ["g_rate", "x" * 300])
    exported(context, own["run_id"])


@fuzzed(
    2,
    epoch=st.integers(1, 4),
    values=st.lists(FLOAT, min_size=8, max_size=8),
    measures=st.dictionaries(
        st.sampled_from(["step_p50", "x" * 300, "compute_seconds", "reduce_bytes", "d_real"]),
        FLOAT,
        max_size=3,
    ),
)
def test_epochs_and_evaluations_are_stored_and_exported(
    context: Context, make_run: MakeRun, epoch: int, values: list[float], measures: dict[str, float]
) -> None:
    own = running(context, make_run)
    g, d, seconds, compiling, *path = values
    reports.finish_epoch(
        context.engine, **own, epoch=epoch, steps=4, images=256, g_loss=g, d_loss=d,
        seconds=seconds, compile_seconds=compiling, g_path=(path[0], path[1]),
        d_path=(path[2], path[3]), measures=measures,
    )  # fmt: skip
    evaluated = {"fid": g, "kid": d, "precision": seconds, "class_distance": path[0]}
    reports.add_quality(
        context.engine,
        **own,
        epoch=epoch,
        seconds=seconds,
        training_seconds=compiling,
        measures=evaluated,
        histogram=[min(abs(v), 3e38) for v in path],
    )
    [stored] = [one for one in queries.epochs(context.engine, own["run_id"]) if one.epoch == epoch]
    assert (stored.g_loss.hex(), stored.d_loss.hex()) == (float(g).hex(), float(d).hex())
    for frame in (
        series.epochs_frame,
        series.quality_frame,
        series.measures_frame,
        series.speeds,
        series.evaluated,
    ):
        frame(context.engine, [own["run_id"]])
    exported(context, own["run_id"])


@fuzzed(
    2,
    at=st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)),  # noqa: DTZ001
    values=st.lists(FLOAT, min_size=5, max_size=5),
)
def test_clocks_may_be_anywhere(
    context: Context, make_run: MakeRun, at: datetime, values: list[float]
) -> None:
    own = running(context, make_run)
    moment = at.replace(tzinfo=UTC)
    names = ("cpu_percent", "rss_bytes", "memory_percent", "gpu_percent", "gpu_memory_bytes")
    reports.add_sample(
        context.engine, SystemSample(**own, at=moment, **dict(zip(names, values, strict=True)))
    )
    with Session(context.engine) as session:
        session.execute(
            update(Run)
            .where(col(Run.id) == own["run_id"])
            .values(started_at=moment, created_at=moment)
        )
        session.execute(
            update(Epoch).where(col(Epoch.run_id) == own["run_id"]).values(finished_at=moment)
        )
        session.commit()
    series.samples_frame(context.engine, own["run_id"])
    series.step_losses(context.engine, own["run_id"])
    exported(context, own["run_id"])


@fuzzed(
    0.2,
    view=st.sampled_from(VIEWS),
    values=st.lists(FLOAT, min_size=8, max_size=8),
    losses=LOSSES,
    year=st.sampled_from([1, 1900, 1969, 2024, 9999]),
)
@pytest.mark.thorough
def test_pages_show_any_figures(
    context: Context,
    make_run: MakeRun,
    view: str,
    values: list[float],
    losses: list[float],
    year: int,
) -> None:
    run = make_run(status="running", epochs=2, steps_per_epoch=4, quality_every=1)
    own = {"run_id": run.id, "attempt": run.attempt}
    g, d, seconds, compiling, *path = values
    steps = np.array(losses, np.float32)
    further = {"g_rate": steps, "d_rate": -steps, "g_effective": steps, "d_effective": steps}
    rate = {"images_per_second": seconds}
    reports.append_steps(
        context.engine,
        **own,
        epoch=3,
        first=0,
        g_losses=steps,
        d_losses=steps,
        series=further,
        **rate,
    )  # type: ignore[arg-type]
    reports.finish_epoch(
        context.engine, **own, epoch=3, steps=4, images=256, g_loss=g, d_loss=d, seconds=seconds,
        compile_seconds=compiling, g_path=(path[0], path[1]), d_path=(path[2], path[3]),
        measures={"compute_seconds": seconds, "step_p50": compiling, "d_real": g},
    )  # fmt: skip
    reports.add_quality(
        context.engine,
        **own,
        epoch=3,
        seconds=seconds,
        training_seconds=compiling,
        measures={"fid": g, "kid": d},
        histogram=[abs(v) for v in losses],
    )
    moment = datetime(year, 6, 1, tzinfo=UTC)
    reports.add_sample(
        context.engine,
        SystemSample(**own, at=moment, cpu_percent=g, rss_bytes=d, memory_percent=seconds),
    )  # type: ignore[arg-type]
    with Session(context.engine) as session:
        session.execute(
            update(Run)
            .where(col(Run.id) == run.id)
            .values(started_at=moment, created_at=moment, phase_since=moment)
        )
        session.commit()
    open_page("run", run=run.id, view=view)
    other = make_run(epochs=2, quality_every=1)
    open_page(
        "compare",
        runs=f"{run.id},{other.id}",
        part="Quality" if view == "Quality" else "Timings" if view == "Timings" else "Losses",
    )
    open_page("runs")
    commands.finish(context.engine, **own, status="stopped")  # type: ignore[arg-type]


def test_a_million_steps_are_drawn_with_few_points(context: Context, make_run: MakeRun) -> None:
    run = make_run(status="running", epochs=1, steps_per_epoch=1_000_000)
    count("metrics", 1)
    began = time.monotonic()
    frame = series.step_losses(context.engine, run.id, points=2000)
    assert len(frame) <= 8000
    assert time.monotonic() - began < 10
    open_page("run", run=run.id)


@pytest.mark.parametrize("text", ["x" * 100_000, "\ud800", "a\0b", "<script>", "\u202e"])
def test_events_of_any_text(context: Context, make_run: MakeRun, text: str) -> None:
    own = running(context, make_run)
    reports.add_event(context.engine, **own, level="warning", text=text)
    exported(context, own["run_id"])
    open_page("run", run=own["run_id"], view="Events")
