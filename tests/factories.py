"""Runs as the trainer would have stored them, written through db.runs.commands and
db.runs.reports."""

from __future__ import annotations

import io
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from ganboard.db import heartbeats
from ganboard.db.engine import writing
from ganboard.db.models import TRAINING, Run
from ganboard.db.runs import checkpoint_reports, commands, reports
from ganboard.gan.config import RunConfig, parse
from ganboard.gan.models.gan3d.validation import VALIDATION
from ganboard.gan.presets import load
from ganboard.gan.quality.declared import OF_MODEL
from ganboard.gan.settings.validation import Curve, Validation
from ganboard.worker.context import Context

HARDWARE: dict[str, Any] = {  # as gan.devices.hardware.describe gives it
    "host": "testbox",
    "cpu": "Test CPU @ 2.00 GHz",
    "cores": 2,
    "memory_bytes": 8 << 30,
    "cpu_flags": ["avx2"],
    "gpus": [],
    "tpus": [],
    "versions": {"python": "3.11.0", "tensorflow": "2.21.0", "keras": "3.15.1", "numpy": "2.3.5"},
}

FACTS: dict[str, Any] = {  # as the trainer finds them out, in the names of gan.events.FACTS
    "form": "plain: oneDNN's convolutions",
    "kernels_before": 412,
    "kernels_after": 96,
    "off_accelerator": ["IteratorGetNext", "RandomUniform"],
    "step_gflop": 7.4,
    "peak_gflops": 193.5,
    "estimated_memory_bytes": 1_100_000_000,
    "measured_memory_bytes": 1_250_000_000,
    "largest_batch": 4096,
    "reduce_bytes": 10_174_180,
    "classifier_accuracy": 0.987,
}

HOSTILE_NAMES = (
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "[click](javascript:alert(1)) ![x](http://127.0.0.1:9/pixel.png) www.example.com a@example.com",
    "$$\\href{javascript:alert(1)}{x}$$ :material/delete: :smile: :red[red] **bold** `code`",
    "# heading | pipe | ~~gone~~ -> <- -- _under_ 1. one",
    "=cmd|'/C calc'!A0 %s%n {{7*7}} ' OR 1=1 --",
    "مرحبا بالعالم שלום",
    "👩‍👩‍👧‍👦 🇺🇳 e\u0301 नमस्ते 漢字",
    "w" * 80,
)


def validation(events: int = 300) -> dict[str, Any]:
    """The fact `validation` of a 3DGAN's run."""
    curve = Curve(x=[0.0, 1.0, 2.0], real=[1.0, 2.0, None], generated=[1.5, 2.5, 0.0])
    matrix = [[1.0 if i == j else None for i in range(13)] for j in range(13)]
    return Validation(
        events=events, curves=dict.fromkeys(VALIDATION.curves, curve), real=matrix, generated=matrix
    ).model_dump()


def png(seed: int, side: int = 28 * 4) -> bytes:
    """A small grey picture that differs with `seed`."""
    pixels = (
        np.random.default_rng(seed)
        .integers(0, 256, (side // 4, side // 4), dtype=np.uint8)
        .repeat(4, 0)
        .repeat(4, 1)
    )
    buffer = io.BytesIO()
    Image.fromarray(pixels, "L").save(buffer, "PNG")
    return buffer.getvalue()


def lose_model(context: Context, run: Run) -> None:
    """Leave a stored run as one of a model that is not here."""
    with writing(context.engine) as session:
        stored = session.get_one(Run, run.id)
        stored.config = {**stored.config, "model": "gone"}


def make_run(
    context: Context,
    name: str = "a run",
    *,
    status: str = "finished",
    epochs: int = 3,
    steps_per_epoch: int = 4,
    grids: bool = True,
    preset: str = "",
    parent_id: str | None = None,
    seconds_per_epoch: float = 2.0,
    error: str = "The disk is full: free some space, then resume.",
    seed: int = 0,
    measured: bool = True,
    facts: Mapping[str, Any] = MappingProxyType({}),
    **changes: Any,
) -> Run:
    """Store a run with `epochs` finished epochs and leave it in `status`; `changes` go into its
    configuration.

    A queued run has no epochs. Unless `measured`, it is as if an old ganboard had trained it:
    losses alone. Quality is evaluated as `quality_every` says. Without `epochs=` in the
    configuration a finished run has as many as were trained, any other ten more.
    """
    base = load("tiny").model_dump(mode="json")
    planned = max(epochs, 1) if status == "finished" else epochs + 10
    config = parse({**base, "epochs": planned, "seed": seed, **changes})
    run = commands.create_run(
        context.engine,
        name=name,
        config=config.model_dump(mode="json"),
        preset=preset,
        parent_id=parent_id,
    )
    if status != "queued":
        _train(
            context,
            run.id,
            config,
            status,
            epochs,
            steps_per_epoch,
            grids,
            seconds_per_epoch,
            error,
            seed,
            measured,
            facts,
        )
    stored = _read(context, run.id)
    assert stored.status == status, f"asked for {status}, got {stored.status}"
    return stored


def _train(
    context: Context,
    run_id: str,
    config: RunConfig,
    status: str,
    epochs: int,
    steps_per_epoch: int,
    grids: bool,
    seconds_per_epoch: float,
    error: str,
    seed: int,
    measured: bool,
    facts: Mapping[str, Any],
) -> None:
    engine, random = context.engine, np.random.default_rng(seed)
    claim = commands.claim(engine, run_id=run_id, worker="testbox-1", lease_seconds=3600)
    assert claim is not None
    own = {"run_id": run_id, "attempt": claim.attempt}
    if status == "starting":
        return
    reports.set_started(
        engine,
        **own,
        hardware=HARDWARE,
        examples=steps_per_epoch * config.batch_size,
        steps_per_epoch=steps_per_epoch,
        start_step=0,
        g_parameters=2_330_944,
        d_parameters=212_865,
    )
    reports.set_phase(engine, **own, phase="training")
    if measured:
        reports.add_facts(engine, **own, values={**FACTS, **facts})
    path = np.cumsum(random.normal(size=(epochs + 1, 4)), axis=0)
    if grids:
        reports.add_grid(engine, **own, epoch=0, rows=4, columns=4, png=png(seed))
    for epoch in range(1, epochs + 1):
        g = (0.7 + 0.3 * random.random(steps_per_epoch) + epoch * 0.01).astype(np.float32)
        d = (1.4 - 0.3 * random.random(steps_per_epoch) - epoch * 0.01).astype(np.float32)
        reports.append_steps(
            engine,
            **own,
            epoch=epoch,
            first=0,
            g_losses=g,
            d_losses=d,
            series=_rates(config, epoch, steps_per_epoch) if measured else {},
        )
        reports.finish_epoch(
            engine,
            **own,
            epoch=epoch,
            steps=steps_per_epoch,
            images=steps_per_epoch * config.batch_size,
            g_loss=float(g.astype(np.float64).mean()),
            d_loss=float(d.astype(np.float64).mean()),
            seconds=seconds_per_epoch,
            compile_seconds=5.0 if epoch == 1 else 0.0,
            g_path=(float(path[epoch, 0]), float(path[epoch, 1])),
            d_path=(float(path[epoch, 2]), float(path[epoch, 3])),
            measures=_measures(config, seconds_per_epoch, steps_per_epoch) if measured else {},
        )
        if config.quality_every and (epoch % config.quality_every == 0 or epoch == config.epochs):
            fid = 40.0 / (epoch + seed % 7) + 2
            measures = (
                _quality(epoch, fid, random)
                if config.model == "dcgan"
                else _other_quality(config.model, fid)
            )
            first = epoch == min(config.quality_every, config.epochs)
            reports.add_quality(
                engine,
                **own,
                epoch=epoch,
                seconds=0.4,
                preparation_seconds=2.0 if first else 0.0,
                training_seconds=epoch * seconds_per_epoch,
                **measures,
            )
        if grids:
            reports.add_grid(engine, **own, epoch=epoch, rows=4, columns=4, png=png(seed + epoch))
    if epochs:
        step = epochs * steps_per_epoch
        checkpoint_reports.add_checkpoint(
            engine,
            **own,
            step=step,
            epoch=epochs,
            digest="0" * 64,
            size=30 << 20,
            keep=config.keep_checkpoints,
        )
    if status != "running":
        commands.finish(engine, **own, status=status, error=error if status == "failed" else None)


def _rates(config: RunConfig, epoch: int, steps: int) -> dict[str, npt.NDArray[np.float32]]:
    """A cosine with restarts every four epochs, and what Adam makes of it."""
    passed = epoch - 1 + np.arange(steps) / steps
    wave = 0.5 * (1 + np.cos(np.pi * (passed % 4) / 4)) + 0.01
    nominal = {
        "g_rate": config.g_learning_rate * wave,
        "d_rate": config.d_learning_rate * np.ones(steps),
    }
    effective = {
        "g_effective": nominal["g_rate"] * (60 + epoch),
        "d_effective": nominal["d_rate"] * (20 + epoch),
    }
    return {name: values.astype(np.float32) for name, values in (nominal | effective).items()}


def _measures(config: RunConfig, seconds: float, steps: int) -> dict[str, float]:
    reduce = 0.1 * seconds if config.replicas > 1 else 0.0
    shares = {
        "input_seconds": 0.02 * seconds,
        "reduce_seconds": reduce,
        "host_seconds": 0.08 * seconds,
    }
    step = seconds / steps
    return {
        **shares,
        "compute_seconds": seconds - sum(shares.values()),
        "step_p50": step,
        "step_p95": 1.2 * step,
        "step_max": 2.5 * step,
        "gflops": 120.0,
        "peak_share": 0.62,
        "reduce_bytes": 1e7 if config.replicas > 1 else 0.0,
        "peak_memory_bytes": 1.3e9,
        "d_real": 0.62,
        "d_fake": 0.41,
    }


def _quality(epoch: int, fid: float, random: np.random.Generator) -> dict[str, Any]:
    histogram = random.dirichlet(np.full(10, 20.0))
    measures = {
        "fid": fid,
        "kid": fid / 1000,
        "precision": 0.8,
        "recall": 0.5 + 0.01 * epoch,
        "density": 0.9,
        "coverage": 0.7,
    }
    measures |= {
        "class_distance": float(np.abs(histogram - 0.1).sum() / 2),
        "diversity": 0.93,
        "memorization": 0.55,
    }
    return {"measures": measures, "histogram": histogram}


def _other_quality(model: str, fid: float) -> dict[str, Any]:
    """Of models without classes: all measures alike, the further from the headline the smaller."""
    return {
        "measures": {name: fid / 100 / (1 + place) for place, name in enumerate(OF_MODEL[model])},
        "histogram": [],
    }


def make_worker(
    context: Context,
    name: str = "testbox-1",
    *,
    kind: str = TRAINING,
    run_id: str | None = None,
    devices: dict[str, Any] | None = None,
) -> None:
    """A worker that has just given a heartbeat."""
    heartbeats.record(
        context.engine,
        name=name,
        kind=kind,
        host="testbox",
        pid=4242,
        run_id=run_id,
        devices=HARDWARE if devices is None else devices,
    )


def _read(context: Context, run_id: str) -> Run:
    from ganboard.db.runs import queries

    run = queries.get_run(context.engine, run_id)
    assert run is not None
    return run
