"""Versions of models: registered from runs, quantized behind a gate of quality, compared.
TensorFlow enters with the first one loaded."""

from __future__ import annotations

import importlib.metadata
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ganboard.db import versions
from ganboard.db.errors import NotAllowed
from ganboard.db.ids import new_id
from ganboard.db.models import Checkpoint, ModelVersion, Run
from ganboard.db.runs import queries
from ganboard.gan import files
from ganboard.gan.config import parse
from ganboard.gan.data.dataset import DatasetError
from ganboard.gan.devices.hardware import versions as installed
from ganboard.gan.generation import package
from ganboard.gan.generation.package import Manifest, VersionError
from ganboard.worker import placement
from ganboard.worker.artifacts import model_versions, transfers
from ganboard.worker.context import Context
from ganboard.worker.registry import lineage, measurement

if TYPE_CHECKING:
    from ganboard.gan.generation.generation import Floats, Generator
    from ganboard.gan.generation.quantization import Arrays, Variant

OnProgress = Callable[[str, float], None]  # phase, and the share that is done

LIMIT = 5.0  # percent by which a quantized version may be worse
_SHOWN_EXAMPLES = 8  # examples of a picture


def _silent(phase: str, share: float) -> None:
    """Nobody watches."""


def add(
    context: Context,
    run: Run,
    name: str,
    epoch: int | None = None,
    *,
    version_id: str | None = None,
    on_progress: OnProgress = _silent,
) -> ModelVersion:
    """Register the generator of a run's newest checkpoint, or of `epoch`, as the next version of
    `name`, under a new id unless one is given.

    Raises BadAnnotation, NotAllowed, CheckpointError, VersionError.
    """
    versions.check_name(name)
    if run.status not in ("finished", "stopped"):
        raise NotAllowed(
            f"Run {run.id} is {run.status}. Versions can only be created from finished or stopped"
            " runs."
        )
    found = _checkpoint(context, run, epoch)
    config = parse(run.config)
    on_progress("loading TensorFlow", 0.0)
    measurement.on_cpu()
    from ganboard.gan.generation import generation

    on_progress("reading the checkpoint", 0.4)
    weights = generation.extract(
        config, context.settings.run_dir(run.id) / "checkpoints", found.step
    )
    generation.require_finite(weights, f"Epoch {found.epoch} of run {run.id}")
    manifest = Manifest(
        id=version_id or new_id(),
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
        data=lineage.data_digest(context, config),
        versions={"ganboard": importlib.metadata.version("ganboard"), **installed()},
        commit=lineage.commit_id(),
        quality=lineage.quality(context, run, found.epoch),
    )
    on_progress("generating examples", 0.6)
    generator = generation.Generator(manifest, weights)
    manifest = manifest.model_copy(
        update={"signature": {**manifest.signature, "network": generator.tensors()}}
    )
    generation.require_finite(
        {"outputs": generator(generator.generation.probe())},
        f"Samples from epoch {found.epoch} of run {run.id}",
    )
    return _store(context, manifest, weights, _examples(context, generator))


def quantize(
    context: Context,
    parent: ModelVersion,
    to: Variant,
    *,
    limit: float = LIMIT,
    force: bool = False,
    version_id: str | None = None,
    on_progress: OnProgress = _silent,
) -> ModelVersion:
    """Register `parent` with weights in fewer bits, unless that makes it worse by more than `limit`
    percent; under a new id unless one is given.

    Raises NotAllowed, DatasetError, VersionError.
    """
    called = f"{parent.name}:{parent.version}"
    if parent.variant != "float32":
        raise NotAllowed(
            f"{called} is already {parent.variant}. Quantize the float32 version that it was"
            " created from."
        )
    of_full, weights = package.read(model_versions.folder(context, parent), parent.digest)
    on_progress("loading TensorFlow", 0.0)
    measurement.on_cpu()
    from ganboard.gan.generation import generation, quantization

    generation.require_finite(weights, called)
    on_progress("quantizing", 0.2)
    packed = quantization.pack(weights, generation.kernels(parse(of_full.config)), to)
    generation.require_finite(quantization.unpack(packed), f"{called} as {to}")
    made = of_full.model_copy(
        update={"id": version_id or new_id(), "variant": to, "parent_id": parent.id, "quality": {}}
    )
    full, quantized = generation.Generator(of_full, weights), generation.Generator(made, packed)
    on_progress("comparing both versions", 0.3)
    metrics, _, remade = measurement.measure(context, full, quantized)
    on_progress("measuring their memory", 0.7)
    with tempfile.TemporaryDirectory(prefix="ganboard-") as name:
        digest, _ = package.write(Path(name, "quantized"), made, packed)
        peaks = _footprint(context, parent), measurement.footprint(Path(name, "quantized"), digest)
    sizes = measurement.weight_bytes(weights), measurement.weight_bytes(packed)
    metrics |= measurement.pair("weight_bytes", *sizes)
    metrics |= measurement.pair("peak_memory_bytes", *peaks)
    if not metrics["percent_worse"] <= limit and not force:  # also for NaN
        raise VersionError(
            f"{called} as {to} is {metrics['percent_worse']:.1f} % worse"
            f" ({measurement.describe(metrics)}), but the limit is {limit:g} %. Nothing was"
            " registered. Raise the limit, use float16, or register it regardless (--limit, --to,"
            " --force)."
        )
    return _store(
        context, made.model_copy(update={"quality": metrics}), packed, _picture(quantized, remade)
    )


def compare(
    context: Context, a: ModelVersion, b: ModelVersion, picture: Path | None = None
) -> dict[str, float]:
    """Metrics of `b` and those of `a` (names that end in _full), and a picture: what `a` makes
    above, what `b` makes below.

    `weight_bytes` are those of the files, `peak_memory_bytes` as `measurement.footprint` says.

    Raises NotAllowed for models with different inputs, DatasetError, VersionError.
    """
    one, other = load(context, a), load(context, b)
    if one.manifest.signature != other.manifest.signature:
        raise NotAllowed(
            f"{a.name}:{a.version} and {b.name}:{b.version} have different inputs or outputs."
            " Compare versions of one model."
        )
    metrics, made, remade = measurement.measure(context, one, other)
    sizes = (float(loaded.manifest.files[package.WEIGHTS].size) for loaded in (one, other))
    metrics |= measurement.pair("weight_bytes", *sizes)
    metrics |= measurement.pair("peak_memory_bytes", _footprint(context, a), _footprint(context, b))
    if picture is not None:
        try:
            picture.write_bytes(_picture(one, made, remade))
        except OSError as error:
            raise VersionError(
                f"{picture} cannot be written ({error.strerror}). Choose another file."
            ) from None
    return metrics


def load(context: Context, version: ModelVersion) -> Generator:
    """A version in memory, every byte of it checked. Raises StoreError, VersionError."""
    read = package.read(model_versions.folder(context, version), version.digest)
    measurement.on_cpu()
    from ganboard.gan.generation import generation

    return generation.Generator(*read)


def manifest(context: Context, version: ModelVersion) -> Manifest:
    """What a version says of itself. Raises StoreError, VersionError."""
    return package.read_manifest(model_versions.preview(context, version), version.digest)


def picture(context: Context, version: ModelVersion) -> bytes | None:
    """PNG of what a version makes, always of the same inputs; None where it has none. Raises
    StoreError, VersionError."""
    return package.read_picture(model_versions.preview(context, version), version.digest)


def remove(context: Context, version: ModelVersion) -> None:
    """Forget a version, and delete its files; the uploader removes those in the store."""
    versions.remove(context.engine, version)
    files.remove(context.settings.model_dir(version.id))
    files.remove(model_versions.preview_dir(context, version))


def _checkpoint(context: Context, run: Run, epoch: int | None) -> Checkpoint:
    kept = queries.checkpoints(context.engine, run.id)
    if not kept:
        raise NotAllowed(f"Run {run.id} has no checkpoint on this machine. Train it here first.")
    chosen = [one for one in kept if epoch in (None, one.epoch)]
    if not chosen:
        there = ", ".join(str(one) for one in sorted({one.epoch for one in kept}))
        raise NotAllowed(
            f"Run {run.id} has no checkpoint of epoch {epoch}. Available: {there} (see"
            " keep_checkpoints)."
        )
    newest = max(chosen, key=lambda one: (one.step, one.attempt))
    transfers.ensure(context, run.id, newest.step)
    if not placement.may_start(context.settings, newest):
        raise NotAllowed(placement.absence(context, run))
    return newest


def _footprint(context: Context, version: ModelVersion) -> float:
    return measurement.footprint(model_versions.folder(context, version), version.digest)


def _examples(context: Context, generator: Generator) -> bytes | None:
    """PNG of what the generator makes of the first examples."""
    with suppress(DatasetError):  # nothing to ask of a pix2pix whose frames are gone
        inputs = generator.generation.examples(context.settings.data)[:_SHOWN_EXAMPLES]
        return _picture(generator, generator(inputs))
    return None


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
