"""The trained networks of a run as files that other programs load, with a text that says how: for
`ganboard networks`, and on request of a page (worker/requests/network_files.py)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from ganboard.db.models import Checkpoint, Run
from ganboard.db.runs import queries
from ganboard.gan import config as configs
from ganboard.gan.checkpoint import reader
from ganboard.gan.config import RunConfig
from ganboard.gan.generation.formats import FORMATS, KERAS, NAMES, ONNX, SAVED_MODEL, WEIGHTS
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
generator's weights are {weights}.

{ways}"""
GENERATOR = NAMES[0]
AVERAGE, TRAINING = WEIGHTS
ONNX_PACKAGES = ("tf2onnx", "onnx")
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
    """What was written, and of which checkpoint."""

    epoch: int
    step: int
    written: list[Written]


def write(
    context: Context,
    run: Run,
    directory: Path,
    *,
    formats: Sequence[str],
    names: Sequence[str],
    epoch: int | None = None,
    weights: str | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Networks:
    """Write networks of the newest checkpoint, or that of `epoch`, into `directory`, which must be
    empty or new; `weights` are one of WEIGHTS, None: the average where there is one. Raises
    ExportFailed, ConfigError, CheckpointError and StoreError, in one sentence, before anything is
    written where that can be known."""
    config, newest = check(context, run, formats=formats, names=names, epoch=epoch, weights=weights)
    if ONNX in formats and not all(map(find_spec, ONNX_PACKAGES)):
        raise ExportFailed("ONNX needs the packages of `pip install 'ganboard[onnx]'`.")
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise ExportFailed(f"{directory} is not empty. Choose a new directory.")
    checkpoints = transfers.ensure(context, run.id, newest.step)
    if newest.step not in [step for step, _, _ in reader.complete(checkpoints)]:
        raise ExportFailed(_gone(context, run, newest))
    progress("loading TensorFlow")
    from ganboard.gan.generation import networks

    average = bool(config.ema) and weights != TRAINING
    try:
        directory.mkdir(parents=True, exist_ok=True)
        written = networks.write(
            config,
            checkpoints,
            newest.step,
            directory,
            formats=formats,
            names=names,
            average=average,
            progress=progress,
        )
        text = README.format(
            run_id=run.id,
            name=run.name,
            epoch=newest.epoch,
            files="\n".join(map(described, written)),
            weights="the moving average (ema)" if average else "those that were trained",
            ways="\n".join(
                usage(one) for one in {one.format: one for one in written[::-1]}.values()
            ),
        )
        (directory / "README.txt").write_text(text, encoding="utf-8")
    except networks.NotExported as error:
        raise ExportFailed(str(error)) from None
    except OSError as error:
        raise ExportFailed(
            f"{error.filename or directory} cannot be written ({error.strerror})."
        ) from None
    return Networks(newest.epoch, newest.step, written)


def check(
    context: Context,
    run: Run,
    *,
    formats: Sequence[str],
    names: Sequence[str],
    epoch: int | None = None,
    weights: str | None = None,
) -> tuple[RunConfig, Checkpoint]:
    """The settings of a run and the checkpoint to write, by what the database says. Raises
    ExportFailed and ConfigError in one sentence."""
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
    for one in names:
        if one not in NAMES:
            raise ExportFailed(f"{one[:40]!r} is no network: choose from {', '.join(NAMES)}.")
    if weights not in (None, *WEIGHTS):
        raise ExportFailed(f"{weights[:40]!r} are no weights: choose from {', '.join(WEIGHTS)}.")
    config = configs.parse(run.config)
    if weights == AVERAGE and not config.ema:
        raise ExportFailed(
            f"Run {run.id} keeps no moving average of its weights (ema): choose {TRAINING}."
        )
    if weights == AVERAGE and GENERATOR not in names:
        raise ExportFailed(f"Only the generator has a moving average: choose {TRAINING}.")
    return config, newest


def _gone(context: Context, run: Run, listed: Checkpoint) -> str:
    """Why the files of a listed checkpoint are not on this disk."""
    if placement.newest_elsewhere(context, run):
        return placement.absence(context, run)
    return (
        f"The files of the checkpoint of epoch {listed.epoch} of run {run.id} are not on this"
        " machine any more. Choose another epoch, or train a clone."
    )


def described(one: Written) -> str:
    """One file with its inputs and output in a line or two."""
    ports = ", ".join(f"{port.name} {_shape(port.shape)} {port.dtype}" for port in one.inputs)
    text = f"{one.path.name}: {ports} -> {_shape(one.output.shape)} {one.output.dtype}"
    if one.foreign and one.format == KERAS:
        text += f"\n    needs the code of {', '.join(one.foreign)} (custom_objects)"
    return text


def usage(one: Written, name: str | None = None) -> str:
    """Python that loads one file, which has another `name` by then if one is given."""
    feeds = ", ".join(f'"{port.name}": {port.name}' for port in one.inputs)
    return WAYS[one.format].format(file=name or one.path.name, feeds=feeds)


def _shape(shape: tuple[int | None, ...]) -> str:
    return f"[{', '.join('batch' if side is None else str(side) for side in shape)}]"
