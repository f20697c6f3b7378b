"""Versions of models: registered from runs, quantized behind a gate of quality, compared.
TensorFlow enters with the first one loaded."""

from __future__ import annotations

import importlib.metadata
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ganboard.db import versions
from ganboard.db.errors import NotAllowed
from ganboard.db.models import Checkpoint, ModelVersion, Run, new_id
from ganboard.db.runs import queries
from ganboard.gan import files
from ganboard.gan.config import parse
from ganboard.gan.data.dataset import DatasetError
from ganboard.gan.data.digest import digest
from ganboard.gan.devices.hardware import versions as installed
from ganboard.gan.generation import package
from ganboard.gan.generation.package import Manifest, VersionError
from ganboard.worker import placement
from ganboard.worker.context import Context

if TYPE_CHECKING:
    from ganboard.gan.generation.generation import Floats, Generator
    from ganboard.gan.generation.quantization import Arrays, Variant

LIMIT = 5.0  # percent by which a quantized version may be worse
COSTS = ("milliseconds", "weight_bytes", "peak_memory_bytes")
_TIMED = 9  # calls
_SHOWN_EXAMPLES = 8  # examples of a picture


def add(context: Context, run: Run, name: str, epoch: int | None = None) -> ModelVersion:
    """Register the generator of a run's newest checkpoint, or of `epoch`, as the next version of
    `name`.

    Raises BadMark, NotAllowed, CheckpointError, VersionError.
    """
    versions.check_name(name)
    if run.status not in ("finished", "stopped"):
        raise NotAllowed(
            f"Run {run.id} is {run.status}: a version is made of a finished or stopped run."
        )
    found = _checkpoint(context, run, epoch)
    config = parse(run.config)
    _start()
    from ganboard.gan.generation import generation

    weights = generation.extract(
        config, context.settings.run_dir(run.id) / "checkpoints", found.step
    )
    generation.require_finite(weights, f"Epoch {found.epoch} of run {run.id}")
    evaluated = next(
        (
            one.measures
            for one in queries.qualities(context.engine, run.id)
            if one.epoch == found.epoch
        ),
        {},
    )
    data: str | None = None
    with suppress(DatasetError):  # data that are gone or refused have no digest
        data = digest(config, context.settings.data)
    manifest = Manifest(
        id=new_id(),
        name=name,
        variant="float32",
        parent_id=None,
        config=run.config,
        signature=generation.of(config).signature(),
        run_id=run.id,
        attempt=found.attempt,
        epoch=found.epoch,
        step=found.step,
        checkpoint=found.digest,
        data=data,
        versions={"ganboard": importlib.metadata.version("ganboard"), **installed()},
        commit=_commit(),
        quality={name: value for name, value in evaluated.items() if value == value},
    )
    generator = generation.Generator(manifest, weights)
    manifest = manifest.model_copy(
        update={"signature": {**manifest.signature, "network": generator.tensors()}}
    )
    generation.require_finite(
        {"outputs": generator(generator.generation.probe())},
        f"What epoch {found.epoch} of run {run.id} makes",
    )
    picture: bytes | None = None
    with suppress(DatasetError):  # nothing to ask of a pix2pix whose frames are gone
        picture = _picture(
            generator,
            generator(generator.generation.examples(context.settings.data)[:_SHOWN_EXAMPLES]),
        )
    return _store(context, manifest, weights, picture)


def quantize(
    context: Context,
    parent: ModelVersion,
    to: Variant,
    *,
    limit: float = LIMIT,
    force: bool = False,
) -> ModelVersion:
    """Register `parent` with weights in fewer bits, unless that makes it worse by more than `limit`
    percent.

    Raises NotAllowed, DatasetError, VersionError.
    """
    called = f"{parent.name}:{parent.version}"
    if parent.variant != "float32":
        raise NotAllowed(
            f"{called} is {parent.variant} already: quantize the version in float32 that it was"
            " made of."
        )
    of_full, weights = package.read(context.settings.model_dir(parent.id), parent.digest)
    _start()
    from ganboard.gan.generation import generation, quantization

    generation.require_finite(weights, called)
    packed = quantization.pack(weights, generation.kernels(parse(of_full.config)), to)
    generation.require_finite(quantization.unpack(packed), f"{called} as {to}")
    made = of_full.model_copy(
        update={"id": new_id(), "variant": to, "parent_id": parent.id, "quality": {}}
    )
    full, quantized = generation.Generator(of_full, weights), generation.Generator(made, packed)
    metrics, _, remade = measure(context, full, quantized)
    with tempfile.TemporaryDirectory(prefix="ganboard-") as name:
        digest, _ = package.write(Path(name, "quantized"), made, packed)
        peak_bytes = (
            footprint(context.settings.model_dir(parent.id), parent.digest),
            footprint(Path(name, "quantized"), digest),
        )
    metrics |= _both("weight_bytes", _bytes(weights), _bytes(packed)) | _both(
        "peak_memory_bytes", *peak_bytes
    )
    if not metrics["percent_worse"] <= limit and not force:  # also for NaN
        raise VersionError(
            f"{called} as {to} is {metrics['percent_worse']:.1f} % worse ({_describe(metrics)}), and"
            f" the limit is {limit:g} %: nothing was registered; raise --limit, choose --to"
            " float16, or say --force."
        )
    return _store(
        context, made.model_copy(update={"quality": metrics}), packed, _picture(quantized, remade)
    )


def compare(
    context: Context, a: ModelVersion, b: ModelVersion, picture: Path | None = None
) -> dict[str, float]:
    """Figures of `b` beside those of `a` (names that end in _full), and a picture: what `a` makes
    above, what `b` makes below.

    `weight_bytes` are those of the files, `peak_memory_bytes` as `footprint` says.

    Raises NotAllowed for models that are asked different things, DatasetError, VersionError.
    """
    one, other = load(context, a), load(context, b)
    if one.manifest.signature != other.manifest.signature:
        raise NotAllowed(
            f"{a.name}:{a.version} and {b.name}:{b.version} take or make different things: compare"
            " versions of one model."
        )
    metrics, made, remade = measure(context, one, other)
    metrics |= _both(
        "weight_bytes",
        *(float(version.manifest.files[package.WEIGHTS].size) for version in (one, other)),
    )
    metrics |= _both(
        "peak_memory_bytes",
        *(footprint(context.settings.model_dir(version.id), version.digest) for version in (a, b)),
    )
    if picture is not None:
        try:
            picture.write_bytes(_picture(one, made, remade))
        except OSError as error:
            raise VersionError(
                f"{picture} cannot be written ({error.strerror}): name another file."
            ) from None
    return metrics


def measure(
    context: Context, full: Generator, other: Generator
) -> tuple[dict[str, float], Floats, Floats]:
    """Figures of `other` beside `full`, and what both make of the same examples. Raises
    DatasetError, VersionError."""
    from ganboard.gan.generation import generation

    settings, asked = context.settings, full.generation
    inputs = asked.examples(settings.data)
    made, remade = full(inputs), other(inputs)
    for one, text in ((made, full.manifest), (remade, other.manifest)):
        generation.require_finite({"outputs": one}, f"What {text.name} in {text.variant} makes")
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
    _start()
    done = subprocess.run(
        [sys.executable, "-m", "ganboard.gan.generation.footprint", str(directory), digest],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        raise VersionError(
            f"The memory that {directory.name} takes was not measured ({last[:300]}): see `ganboard"
            " doctor`."
        )
    return float(done.stdout.split()[-1])


def load(context: Context, version: ModelVersion) -> Generator:
    """A version in memory, every byte of it checked. Raises VersionError."""
    read = package.read(context.settings.model_dir(version.id), version.digest)
    _start()
    from ganboard.gan.generation import generation

    return generation.Generator(*read)


def manifest(context: Context, version: ModelVersion) -> Manifest:
    """What a version says of itself. Raises VersionError."""
    return package.read_manifest(context.settings.model_dir(version.id), version.digest)


def picture(context: Context, version: ModelVersion) -> bytes | None:
    """PNG of what a version makes, always of the same inputs; None where it has none. Raises
    VersionError."""
    return package.read_picture(context.settings.model_dir(version.id), version.digest)


def remove(context: Context, version: ModelVersion) -> None:
    """Forget a version, and delete its files."""
    versions.remove(context.engine, version)
    files.remove(context.settings.model_dir(version.id))


def _checkpoint(context: Context, run: Run, epoch: int | None) -> Checkpoint:
    kept = queries.checkpoints(context.engine, run.id)
    if not kept:
        raise NotAllowed(f"Run {run.id} has no checkpoint on this machine: train it here.")
    chosen = [one for one in kept if epoch in (None, one.epoch)]
    if not chosen:
        there = ", ".join(str(one) for one in sorted({one.epoch for one in kept}))
        raise NotAllowed(
            f"Run {run.id} has no checkpoint of epoch {epoch}: it keeps {there} (keep_checkpoints)."
        )
    newest = max(chosen, key=lambda one: (one.step, one.attempt))
    if not placement.may_start(context.settings, newest):
        raise NotAllowed(placement.absence(context, run))
    return newest


def _bytes(arrays: Arrays) -> float:
    return float(sum(array.nbytes for array in arrays.values()))


def _both(name: str, full: float, other: float) -> dict[str, float]:
    return {f"{name}_full": full, name: other}


def _describe(metrics: dict[str, float]) -> str:
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


def _picture(generator: Generator, *made: Floats) -> bytes:
    """PNG with a row for each of `made`."""
    from ganboard.gan.modeling import samples

    displayed = [generator.generation.pictures(part[:_SHOWN_EXAMPLES]) for part in made]
    return samples.png(np.concatenate(displayed), len(displayed[0]))


def _store(
    context: Context, manifest: Manifest, arrays: Arrays, picture: bytes | None
) -> ModelVersion:
    directory = context.settings.model_dir(manifest.id)
    digest, size = package.write(directory, manifest, arrays, picture)
    own = manifest.model_dump(
        include={
            "id",
            "name",
            "variant",
            "parent_id",
            "run_id",
            "attempt",
            "epoch",
            "step",
            "quality",
        }
    )
    try:
        return versions.add(
            context.engine,
            ModelVersion(**own, model=parse(manifest.config).model, digest=digest, size=size),
        )
    except BaseException:
        files.remove(directory)
        raise


def _start() -> None:
    """Before TensorFlow: accelerators belong to the trainings, and every machine should get the
    same bits."""
    os.environ.update(
        CUDA_VISIBLE_DEVICES="-1", TF_CPP_MIN_LOG_LEVEL="2", KERAS_BACKEND="tensorflow"
    )


def _commit() -> str | None:
    """The commit of this source, if it lies in a checkout."""
    root = Path(__file__).parents[3]
    if not (root / ".git").exists():
        return None
    with suppress(OSError, subprocess.SubprocessError):
        said = subprocess.run(
            ["git", "-C", str(root), "rev-parse", "HEAD"],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
        return said.stdout.strip()
    return None
