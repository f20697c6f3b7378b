"""What `ganboard predict` computes: flows continued by a stored network, its errors, and where the
time goes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ganboard.gan.devices import runtime
from ganboard.gan.distributed import strategy as distribution
from ganboard.gan.models.pix2pix.config import Config
from ganboard.gan.models.pix2pix.flow.frames import Frames
from ganboard.gan.models.pix2pix.flow.lattice import Field
from ganboard.gan.models.pix2pix.prediction import inference, rollout
from ganboard.gan.models.pix2pix.prediction.inference import Times
from ganboard.gan.models.pix2pix.prediction.prediction_request import PredictionRequest

OnProgress = Callable[[int, int], None]  # frames predicted, in all


def compute(
    config: Config,
    directory: Path,
    step: int,
    frames: Frames,
    chosen: Sequence[int],
    request: PredictionRequest,
    on_progress: OnProgress,
) -> tuple[dict[str, Any], list[Field]]:
    """All metrics as JSON takes them, and the continuations [steps + 1, ny, nx, 3] of the `chosen`
    sequences by the network that the checkpoint of `step` in `directory` holds. The first call of
    TensorFlow in its process. Raises CheckpointError, DatasetError."""
    config = config.model_copy(
        update={"replicas": request.replicas, "strategy": "mirrored", "xla": False}
    )
    runtime.prepare(config)
    strategy = distribution.strategy(config)
    (nx, ny), history = frames.manifest.grid, config.history
    generator = inference.restore(config, directory, step, strategy, (ny, nx), request.halo)
    tiled = inference.Tiled(
        generator, strategy, halo=request.halo, group=request.group, xla=request.xla
    )
    total = len(chosen) * request.steps + sum(
        min(rollout.PAIRS, len(frames.pairs(split, history=history))) for split in frames.splits
    )

    def advance() -> None:
        on_progress(len(tiled.times), total)

    made = [
        rollout.roll(
            tiled,
            frames.until(number, history - 1, history),
            frames.mask(number),
            request.steps,
            advance,
        )
        for number in chosen
    ]
    gap = rollout.gap(tiled, frames, history, advance)
    flows = [
        rollout.evaluate(continued, frames, number, history - 1)
        for number, continued in zip(chosen, made, strict=True)
    ]
    times = {
        "first": tiled.times[0]._asdict(),
        "steady": typical(tiled.times[1:])._asdict(),
        "compiled": tiled.compiled,
    }
    return {
        "step": step,
        **request.model_dump(exclude={"sequences"}),
        "l1_one_step": gap,
        "times": times,
        "flows": flows,
    }, made


def typical(times: Sequence[Times]) -> Times:
    """The median of each part, in seconds."""
    return Times(*np.median(np.array(times), axis=0).tolist())
