"""What versions of a model cost and how they differ: time, bytes, outputs. TensorFlow enters with
the first measurement."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from ganboard.gan.generation.package import VersionError
from ganboard.worker.context import Context

if TYPE_CHECKING:
    from ganboard.gan.generation.generation import Floats, Generator
    from ganboard.gan.generation.quantization import Arrays

COSTS = ("milliseconds", "weight_bytes", "peak_memory_bytes")
_TIMED = 9  # calls


def on_cpu() -> None:
    """Before TensorFlow: accelerators belong to the trainings, and every machine should get the
    same bits."""
    os.environ.update(
        CUDA_VISIBLE_DEVICES="-1", TF_CPP_MIN_LOG_LEVEL="2", KERAS_BACKEND="tensorflow"
    )


def measure(
    context: Context, full: Generator, other: Generator
) -> tuple[dict[str, float], Floats, Floats]:
    """Metrics of `other` and `full`, and the outputs of both for the same examples. Raises
    DatasetError, VersionError."""
    from ganboard.gan.generation import generation

    settings, asked = context.settings, full.generation
    inputs = asked.examples(settings.data)
    made, remade = full(inputs), other(inputs)
    for one, text in ((made, full.manifest), (remade, other.manifest)):
        generation.require_finite({"outputs": one}, f"Samples from {text.name} in {text.variant}")
    own, worse = asked.compare(made, remade, settings.data, settings.state / "quality")
    seconds: tuple[list[float], list[float]] = ([], [])
    few = inputs[: asked.together]
    for _ in range(_TIMED):
        for generator, times in zip((full, other), seconds, strict=True):
            began = time.perf_counter()
            generator(few)
            times.append(time.perf_counter() - began)
    took = {
        f"milliseconds{part}": 1000 * statistics.median(times)
        for part, times in zip(("_full", ""), seconds, strict=True)
    }
    return (
        {"percent_worse": worse, **generation.likeness(made, remade), **own, **took},
        made,
        remade,
    )


def footprint(directory: Path, digest: str) -> float:
    """Highest resident memory in bytes of a process that does nothing but load the version in
    `directory` and make a batch of it; Python and TensorFlow are counted. Raises VersionError."""
    on_cpu()
    done = subprocess.run(
        [sys.executable, "-m", "ganboard.gan.generation.footprint", str(directory), digest],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        raise VersionError(
            f"The memory use of {directory.name} could not be measured ({last[:300]}). Run"
            " `ganboard doctor`."
        )
    return float(done.stdout.split()[-1])


def weight_bytes(arrays: Arrays) -> float:
    return float(sum(array.nbytes for array in arrays.values()))


def pair(name: str, full: float, other: float) -> dict[str, float]:
    """One metric of both versions."""
    return {f"{name}_full": full, name: other}


def describe(metrics: dict[str, float]) -> str:
    """Those that exist of the full version too, in words."""
    pairs = [
        (name, metrics[name], metrics[f"{name}_full"])
        for name in metrics
        if f"{name}_full" in metrics
    ]
    own = [
        f"{name} {value:.4g} instead of {before:.4g}"
        for name, value, before in pairs
        if name not in COSTS
    ]
    return ", ".join([*own, *([f"PSNR {metrics['psnr']:.1f} dB"] if "psnr" in metrics else [])])
