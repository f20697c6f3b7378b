"""Fill a database as months of use would: `python -m tests.scale.seed PLACE`, where PLACE is a
state directory or a database URL.

The defaults give 1,000 runs of 30 epochs and 1,000 steps, 20 image grids each. The same options
give the same rows, but for the lease of the run that trains.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from sqlalchemy import Engine
from sqlmodel import insert

from ganboard.db import stats
from ganboard.db.engine import make_engine, writing
from ganboard.db.migrate import upgrade
from ganboard.db.models import (
    Checkpoint,
    Epoch,
    Event,
    Grid,
    Metric,
    Quality,
    Run,
    SavedView,
    StepLosses,
    StepSeries,
    SystemSample,
    Tag,
)
from ganboard.db.settings import Settings
from tests.factories import FACTS, HARDWARE
from tests.scale.pictures import Pictures
from tests.scale.plan import Planned, Size, plan

Rows = dict[type[Any], list[dict[str, Any]]]

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
APART = timedelta(hours=2)  # from one run's start to the next
RUNS_PER_TRANSACTION = 10
NOISE = 1 << 20  # values that all runs draw their noise from
SPIKES = 6  # per run and network
SAMPLES = 200  # of the machine, per run
QUALITY_EVERY = 5  # epochs
CHECKPOINTS = 3
# parents first
ORDER = (
    Run,
    Tag,
    Epoch,
    StepLosses,
    StepSeries,
    Quality,
    Metric,
    Grid,
    Checkpoint,
    Event,
    SystemSample,
)
WORDS = (
    "A checkpoint was saved.",
    "The learning rate starts anew.",
    "Attempt 1 started on testbox-1.",
    "The images were evaluated.",
)


def seed(engine: Engine, size: Size, *, quiet: bool = True) -> None:
    """Store `size.runs` runs in an upgraded, empty database; shows progress and the time left
    unless `quiet`."""
    random = np.random.default_rng(size.seed)
    noise = random.standard_normal(NOISE, dtype=np.float32)
    pictures = Pictures(size.seed)
    columns = (
        TextColumn("runs"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(quiet=quiet)) as progress:
        for planned in progress.track(list(_batches(plan(size)))):
            rows: Rows = {table: [] for table in ORDER}
            for one in planned:
                _fill(rows, one, size, noise, pictures)
            with writing(engine) as session:
                for table in ORDER:
                    if rows[table]:
                        session.execute(insert(table), rows[table])
    with writing(engine) as session:
        session.execute(
            insert(SavedView),
            [{"name": "Failed runs", "page": "runs", "query": "status=failed", "saved_at": BEGIN}],
        )


def _batches(planned: list[Planned]) -> Iterator[list[Planned]]:
    for start in range(0, len(planned), RUNS_PER_TRANSACTION):
        yield planned[start : start + RUNS_PER_TRANSACTION]


def _fill(
    rows: Rows, one: Planned, size: Size, noise: npt.NDArray[np.float32], pictures: Pictures
) -> None:
    own = {"run_id": one.id, "attempt": 1}
    created = BEGIN + one.number * APART
    g, d = _losses(one, size, noise)
    seconds = one.seconds_per_epoch
    rows[Run].append(_run(one, size, created, g, d))
    rows[Tag] += [{"run_id": one.id, "tag": tag} for tag in one.tags]
    rates = _rates(one, size, noise)
    path = np.cumsum(
        np.random.default_rng((size.seed, one.number, 1)).normal(size=(one.epochs + 1, 4)), axis=0
    )
    for epoch in range(1, one.epochs + 1):
        steps = slice((epoch - 1) * size.steps, epoch * size.steps)
        rows[StepLosses].append({**own, "epoch": epoch, "g_losses": g[steps], "d_losses": d[steps]})
        rows[StepSeries] += [
            {**own, "epoch": epoch, "name": name, "values": values[steps]}
            for name, values in rates.items()
        ]
        at = created + timedelta(seconds=epoch * seconds)
        rows[Epoch].append(
            {
                **own,
                "epoch": epoch,
                "finished_at": at,
                "steps": size.steps,
                "images": size.steps * one.config["batch_size"],
                "g_loss": float(g[steps].astype(np.float64).mean()),
                "d_loss": float(d[steps].astype(np.float64).mean()),
                "seconds": seconds * float(1 + 0.05 * noise[epoch + one.number]),
                "compile_seconds": 5.0 if epoch == 1 else 0.0,
                **dict(zip(("g_x", "g_y", "d_x", "d_y"), map(float, path[epoch]), strict=True)),
                "measures": _measures(seconds, size.steps),
            }
        )
        if epoch % QUALITY_EVERY == 0 or epoch == one.config["epochs"]:
            rows[Quality].append(
                {**own, "epoch": epoch, "made_at": at, **_quality(one, epoch, noise)}
            )
            rows[Metric] += [
                {"run_id": own["run_id"], "epoch": epoch, "name": name, "value": value}
                for name, value in _metrics(one, epoch, noise).items()
            ]
    rows[Grid] += [{**own, **grid} for grid in _grids(one, size, created, pictures)]
    for index, epoch in enumerate(range(max(1, one.epochs - CHECKPOINTS + 1), one.epochs + 1)):
        digest = f"{one.number:032x}{index:032x}"
        saved = {
            "step": epoch * size.steps,
            "epoch": epoch,
            "digest": digest,
            "size": 30 << 20,
            "saved_at": created,
        }
        rows[Checkpoint].append({**own, **saved})
    rows[Event] += [
        {**own, "at": created + timedelta(minutes=i), "level": "info", "text": words}
        for i, words in enumerate(WORDS)
    ]
    if one.error:
        rows[Event].append(
            {**own, "at": created + timedelta(hours=1), "level": "error", "text": one.error}
        )
    rows[SystemSample] += _samples(one, created, noise)


def _run(
    one: Planned,
    size: Size,
    created: datetime,
    g: npt.NDArray[np.float32],
    d: npt.NDArray[np.float32],
) -> dict[str, Any]:
    started = one.status != "queued"
    trained = one.epochs * one.seconds_per_epoch
    ended = (
        created + timedelta(seconds=trained + 30)
        if one.status in ("finished", "failed", "stopped")
        else None
    )
    return {
        "id": one.id,
        "name": one.name,
        "status": one.status,
        "config": one.config,
        "preset": "paper",
        "sweep": one.sweep,
        "number": one.number,
        "note": one.note,
        "archived_at": ended if one.archived else None,
        "created_at": created,
        "queued_at": created,
        "started_at": created if started else None,
        "ended_at": ended,
        "attempt": int(started),
        "worker": "testbox-1" if one.status == "running" else None,
        "lease_until": datetime.now(UTC) + timedelta(days=30) if one.status == "running" else None,
        "error": one.error,
        "phase": "training" if one.status == "running" else None,
        "phase_since": created,
        "hardware": HARDWARE if started else None,
        "examples": size.steps * one.config["batch_size"] if started else None,
        "steps_per_epoch": size.steps if started else None,
        "g_parameters": 2_330_944 if started else None,
        "d_parameters": 212_865 if started else None,
        "epoch": one.epochs,
        "step": one.epochs * size.steps,
        "seconds": trained,
        "g_loss": float(g[-1]) if len(g) else None,
        "d_loss": float(d[-1]) if len(d) else None,
        "images_per_second": (
            size.steps * one.config["batch_size"] / one.seconds_per_epoch if one.epochs else None
        ),
        "facts": FACTS if started else {},
    }


def _losses(
    one: Planned, size: Size, noise: npt.NDArray[np.float32]
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Losses of G and D [epochs * steps]: a curve that settles, noise, single spikes, and NaN from
    `one.nan_from` on."""
    count = one.epochs * size.steps
    passed = np.arange(count, dtype=np.float32) / max(1, size.epochs * size.steps)
    settled = np.exp(-6 * passed)
    own = np.random.default_rng((size.seed, one.number))
    found = []
    for start, end, spread in (
        (2.2, 0.8 + 0.4 * own.random(), 0.12),
        (0.4, 1.3 - 0.3 * own.random(), 0.08),
    ):
        curve = (end + (start - end) * settled + spread * _noise(noise, count, own)).astype(
            np.float32
        )
        if count:
            curve[own.integers(0, count, SPIKES)] *= np.float32(20.0)
        if one.nan_from is not None:
            curve[one.nan_from :] = np.nan
        found.append(curve)
    return found[0], found[1]


def _rates(
    one: Planned, size: Size, noise: npt.NDArray[np.float32]
) -> dict[str, npt.NDArray[np.float32]]:
    """Nominal and effective learning rates of every step."""
    count = one.epochs * size.steps
    own = np.random.default_rng((size.seed, one.number, 2))
    wave = (0.55 + 0.45 * np.cos(np.arange(count) * (2 * np.pi / (17 * size.steps)))).astype(
        np.float32
    )
    g = wave * np.float32(one.config["g_learning_rate"])
    d = np.full(count, one.config["d_learning_rate"], np.float32)
    return {
        "g_rate": g,
        "d_rate": d,
        "g_effective": g * (60 + 3 * _noise(noise, count, own)),
        "d_effective": d * (20 + _noise(noise, count, own)),
    }


def _noise(
    noise: npt.NDArray[np.float32], count: int, random: np.random.Generator
) -> npt.NDArray[np.float32]:
    return (
        np.resize(np.roll(noise, -int(random.integers(len(noise))))[:count], count)
        if count
        else noise[:0]
    )


def _measures(seconds: float, steps: int) -> dict[str, float]:
    step = seconds / steps
    return {
        "input_seconds": 0.02 * seconds,
        "reduce_seconds": 0.0,
        "host_seconds": 0.08 * seconds,
        "compute_seconds": 0.9 * seconds,
        "step_p50": step,
        "step_p95": 1.2 * step,
        "step_max": 2.5 * step,
        "gflops": 120.0,
        "peak_share": 0.62,
        "reduce_bytes": 0.0,
        "peak_memory_bytes": 1.3e9,
        "d_real": 0.62,
        "d_fake": 0.41,
    }


def _quality(one: Planned, epoch: int, noise: npt.NDArray[np.float32]) -> dict[str, Any]:
    shares = np.abs(0.1 + 0.01 * noise[one.number : one.number + 10])
    return {
        "seconds": 0.4,
        "preparation_seconds": 2.0 if epoch == 1 else 0.0,
        "training_seconds": epoch * one.seconds_per_epoch,
        "histogram": (shares / shares.sum()).astype(np.float32),
    }


def _metrics(one: Planned, epoch: int, noise: npt.NDArray[np.float32]) -> dict[str, float]:
    fid = 60.0 / epoch + 5 + abs(float(noise[7 * one.number + epoch]))
    return {
        "fid": float("nan") if one.nan_from == 0 else fid,
        "kid": fid / 1000,
        "precision": 0.8,
        "recall": min(0.95, 0.4 + 0.01 * epoch),
        "density": 0.9,
        "coverage": 0.7,
        "class_distance": 0.05,
        "diversity": 0.93,
        "memorization": 0.55,
    }


def _grids(
    one: Planned, size: Size, created: datetime, pictures: Pictures
) -> Iterator[dict[str, Any]]:
    """Up to `size.grids` grids: before training, and after epochs that lie evenly apart, the last
    among them."""
    if not one.grids:
        return
    shown = np.unique(np.linspace(0, one.epochs, size.grids).round().astype(int))
    for epoch in map(int, shown):
        png = pictures.grid(one.number, epoch / size.epochs)
        yield {
            "epoch": epoch,
            "made_at": created + timedelta(minutes=epoch),
            "rows": pictures.side,
            "columns": pictures.side,
            "png": png,
        }


def _samples(
    one: Planned, created: datetime, noise: npt.NDArray[np.float32]
) -> Iterator[dict[str, Any]]:
    count = SAMPLES if one.epochs else 0
    own = {"run_id": one.id, "attempt": 1}
    for index in range(count):
        busy = float(np.clip(90 + 5 * noise[one.number + index], 0, 100))
        at = created + timedelta(
            seconds=index * max(1.0, one.epochs * one.seconds_per_epoch) / SAMPLES
        )
        yield {
            **own,
            "at": at,
            "cpu_percent": busy,
            "rss_bytes": 1.2e9 + 1e6 * index,
            "memory_percent": 40 + busy / 20,
        }


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.scale.seed", description="Fill a database as months of use would."
    )
    parser.add_argument("place", help="a state directory (GANBOARD_HOME), or a database URL")
    for name, value in vars(Size()).items():
        parser.add_argument(f"--{name}", type=int, default=value, help=f"default: {value:,}")
    options = vars(parser.parse_args())
    place = options.pop("place")
    settings = (
        Settings(database_url=place)
        if "://" in place
        else Settings(home=Path(place), database_url="")
    )
    if "://" not in place:
        settings.prepare_home()
    engine = make_engine(settings.database)
    upgrade(engine)
    if runs := stats.statistics(engine)["run"]:
        print(f"{place} already holds {runs:,} runs: name an empty place.", file=sys.stderr)
        return 1
    seed(engine, Size(**options), quiet=False)
    stored = stats.statistics(engine)
    print(
        f"{stored['run']:,} runs, {stored['epoch']:,} epochs, {stored['grid']:,} grids,"
        f" {stored['bytes'] / 2**20:,.0f} MiB"
    )
    engine.dispose()
    return 0


if __name__ == "__main__":
    sys.exit(main())
