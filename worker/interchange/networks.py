"""`ganboard networks`: the trained networks of a run as files that other programs load, with a text
that says how."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from ganboard.db.models import Run
from ganboard.db.runs import queries
from ganboard.gan import config as configs
from ganboard.gan.generation.formats import FORMATS, KERAS, ONNX, SAVED_MODEL
from ganboard.worker import placement
from ganboard.worker.artifacts import transfers
from ganboard.worker.context import Context
from ganboard.worker.interchange.export import ExportFailed

if TYPE_CHECKING:
    from ganboard.gan.generation.networks import Written

README = """\
The networks of the ganboard run {run_id} ({name}) after epoch {epoch}, in float32, for inference.

{files}

Values are those that the networks take and make in training: pictures in [-1, 1], channels last.
"latent" is drawn from a standard normal distribution, "label" is the number of a class. The
generator's weights are those whose images ganboard shows{ema}.

{ways}"""
# how a file of each format is used
WAYS = {
    KERAS: """\
    import keras
    network = keras.models.load_model("{file}")
""",
    SAVED_MODEL: """\
    import tensorflow as tf
    network = tf.saved_model.load("{file}").serve
""",
    ONNX: """\
    import onnxruntime
    session = onnxruntime.InferenceSession("{file}")
    (output,) = session.run(None, {{{feeds}}})
""",
}


@dataclass(frozen=True)
class Networks:
    """What was written, and of which epoch."""

    epoch: int
    written: list[Written]


def write(
    context: Context,
    run: Run,
    directory: Path,
    *,
    formats: Sequence[str],
    names: Sequence[str],
    epoch: int | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Networks:
    """Write networks of the newest checkpoint, or that of `epoch`, into `directory`, which must be
    empty or new. Raises ExportFailed, ConfigError, CheckpointError and StoreError, in one sentence,
    before anything is written where that can be known."""
    if run.external:
        raise ExportFailed(f"A script trained run {run.id}: ganboard does not have its networks.")
    stored = queries.checkpoints(context.engine, run.id)
    chosen = [one for one in stored if epoch is None or one.epoch == epoch]
    if not chosen:
        known = ", ".join(str(one.epoch) for one in sorted(stored, key=lambda one: one.step))
        raise ExportFailed(
            f"Run {run.id} has no checkpoint of epoch {epoch}: choose from {known}."
            if stored
            else placement.absence(context, run)
        )
    newest = max(chosen, key=lambda one: (one.step, one.attempt))
    for one in formats:
        if one not in FORMATS:
            raise ExportFailed(f"{one[:40]!r} is no format: choose from {', '.join(FORMATS)}.")
    if ONNX in formats and find_spec("tf2onnx") is None:
        raise ExportFailed("ONNX needs the packages of `pip install 'ganboard[onnx]'`.")
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise ExportFailed(f"{directory} is not empty. Choose a new directory.")
    config = configs.parse(run.config)
    checkpoints = transfers.ensure(context, run.id)
    from ganboard.gan.generation import networks

    try:
        directory.mkdir(parents=True, exist_ok=True)
        written = networks.write(
            config,
            checkpoints,
            newest.step,
            directory,
            formats=formats,
            names=names,
            progress=progress,
        )
        text = README.format(
            run_id=run.id,
            name=run.name,
            epoch=newest.epoch,
            files="\n".join(map(described, written)),
            ema=": the moving average (ema)" if config.ema else "",
            ways="\n".join(map(_way, {one.format: one for one in written[::-1]}.values())),
        )
        (directory / "README.txt").write_text(text, encoding="utf-8")
    except networks.NotExported as error:
        raise ExportFailed(str(error)) from None
    except OSError as error:
        raise ExportFailed(
            f"{error.filename or directory} cannot be written ({error.strerror})."
        ) from None
    return Networks(newest.epoch, written)


def described(one: Written) -> str:
    """One file with its inputs and output in a line or two."""
    ports = ", ".join(f"{port.name} {_shape(port.shape)} {port.dtype}" for port in one.inputs)
    text = f"{one.path.name}: {ports} -> {_shape(one.output.shape)} {one.output.dtype}"
    if one.foreign and one.format == KERAS:
        text += f"\n    needs the code of {', '.join(one.foreign)} (custom_objects)"
    return text


def _way(one: Written) -> str:
    feeds = ", ".join(f'"{port.name}": {port.name}' for port in one.inputs)
    return WAYS[one.format].format(file=one.path.name, feeds=feeds)


def _shape(shape: tuple[int | None, ...]) -> str:
    return f"[{', '.join('batch' if side is None else str(side) for side in shape)}]"
