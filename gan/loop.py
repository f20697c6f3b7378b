"""The training loop: from a configuration to a finished run. Free of TensorFlow until `train` is called.

Starting is resuming: the newest valid checkpoint is always looked for first. Before a checkpoint is committed the sink gets
`Phase("saving")`; a sink that buffers must have everything before it on disk when it returns, then no kill can lose an event.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gan import capabilities, checkpoints, data, hardware, keys, projection, rates, runtime
from gan.config import ConfigError, RunConfig, plan
from gan.events import Control, Facts, Grid, Note, Outcome, Phase, Sink, Started, Steps, TrainingFailed, Verdict
from gan.progress import Progress
from gan.saver import Saver
from gan.watchdog import Watchdog

if TYPE_CHECKING:
    from gan.step import Taken


def train(config: RunConfig, *, run_dir: Path, data_dir: Path, attempt: int, sink: Sink, control: Control) -> Outcome:
    """Train `config`, or go on where an earlier attempt stopped, until it is finished or `control` says otherwise.

    Checkpoints lie in `run_dir/checkpoints` and carry `attempt`, which must grow with every call on the same directory.
    Raises ConfigError when this machine, this version or the data set cannot run `config`, TrainingFailed when its numbers are no longer
    finite, CheckpointError when the disk refuses the last state of an ending attempt, and whatever `sink` or `control` raise.
    """
    # Import TensorFlow.
    sink(Phase("importing"))
    runtime.prepare(config)
    from gan import distribution, fit, measures, runner, samples, step

    machine = hardware.describe()
    if sentence := capabilities.check(config, machine):
        raise ConfigError(sentence)

    # Load the data.
    sink(Phase("loading"))
    images = data.load(config, data_dir).images
    amounts = plan(config, len(images))
    per_epoch = amounts.steps_per_epoch

    # Build the networks and restore the newest checkpoint.
    strategy = distribution.strategy(config)
    with strategy.scope():
        nets = step.networks(config)
    trained = nets.generator.trainable_variables, nets.discriminator.trainable_variables
    initial = [[v.numpy() for v in variables] for variables in trained]
    untrained = nets.arrays()
    directory, digest = run_dir / "checkpoints", checkpoints.config_hash(config, len(images))

    def restore() -> Progress:
        arrays, progress = checkpoints.load(directory, untrained, digest=digest, sink=sink) or (untrained, Progress())
        nets.assign(arrays)
        return progress

    def agree(number: int) -> int:
        return number

    progress = restore()
    saver = Saver(config, directory, digest, attempt, nets.arrays, sink, saved_step=progress.step)
    looped = {"custom": runner.CustomLoop, "fit": fit.FitLoop}[config.loop](step.Stepper(config, strategy, nets, images), agree)
    measured = measures.Measures(config)

    # Say what begins.
    sink(Started(machine, amounts.examples, per_epoch, progress.step, nets.generator.count_params(), nets.discriminator.count_params()))
    for text in capabilities.remarks(config, machine):
        sink(Note("info", text))
    if progress.step == 0:
        sink(Grid(0, samples.grid_png(config, nets.shown), config.grid_size, config.grid_size))
    if progress.g_losses.size:  # a sink may have lost the steps before the checkpoint
        sink(Steps(progress.epoch + 1, 0, progress.g_losses, progress.d_losses))
    if progress.epoch >= config.epochs:
        return "finished"

    # Trace the training step.
    sink(Phase("compiling"))
    began = time.monotonic()
    looped.trace(keys.order(config.seed, progress.epoch + 1, amounts.examples))
    progress.compile_seconds += time.monotonic() - began
    sink(Phase("training"))
    verdict: Verdict = "go"
    trouble: str | None = None

    def report(news: runner.Report) -> bool:
        """After every call of the training step: tell what it did, and whether to go on."""
        nonlocal verdict, trouble
        watchdog.beat()
        epoch, first, taken = progress.epoch + 1, progress.g_losses.size, news.taken
        progress.add(taken["g_loss"], taken["d_loss"], news.seconds, news.compile_seconds)
        measured.add(news)
        used = due[first : first + len(taken)]
        sink(Steps(epoch, first, taken["g_loss"], taken["d_loss"], measured.series(taken, used)))
        trouble = not_finite(epoch, first, taken, nets.tensors)
        verdict = control()
        if trouble is None and verdict == "go" and progress.g_losses.size < per_epoch and saver.due(None):
            saver.save(progress, leaving=False)
        return trouble is None and verdict == "go"

    measured.begin()
    with Watchdog(config.stall_seconds, sink) as watchdog:
        while True:
            # Take the steps of an epoch.
            epoch, first = progress.epoch + 1, progress.g_losses.size
            order = keys.order(config.seed, epoch, amounts.examples)
            due = np.stack(rates.rates(config, per_epoch, progress.step - first + np.arange(per_epoch), progress.rate_factor), 1)
            looped.epoch(order, first, progress.step, due[first:], report)

            # Recover once from numbers that are not finite.
            if trouble is not None:
                if config.on_non_finite == "stop" or progress.rate_factor < 1:
                    raise TrainingFailed(trouble)
                progress = restore()
                progress.rate_factor = 0.5
                trouble = None
                sink(Note("error", f"Went back to step {progress.step}; both learning rates are halved."))
                continue

            # Finish the epoch.
            ended = progress.g_losses.size == per_epoch
            if ended:
                points = [projection.path_point(config.seed, net, [v.numpy() for v in trained[net]], initial[net]) for net in range(2)]
                sink(progress.finish_epoch(per_epoch * config.batch_size, *points, measured.epoch()))
                if epoch % config.grid_every == 0 or epoch == config.epochs:
                    sink(Grid(epoch, samples.grid_png(config, nets.shown), config.grid_size, config.grid_size))

            # Save, go on or leave.
            if progress.epoch >= config.epochs:
                saver.save(progress, leaving=True)
                return "finished"
            if verdict != "go":
                saver.save(progress, leaving=True)
                return "stopped" if verdict == "stop" else "suspended"
            if saver.due(epoch):
                saver.save(progress, leaving=False)


def not_finite(epoch: int, first: int, taken: Taken, tensors: Sequence[str]) -> str | None:
    """A sentence about the first number that is not finite, or None; `first` counts the steps of the epoch from 0."""
    found = [(int(np.argmin(np.isfinite(taken[f"{net[0]}_loss"]))), f"The loss of the {net}") for net in ("discriminator", "generator")]
    found = [(step, what) for step, what in found if not np.isfinite(taken[f"{what.split()[-1][0]}_loss"]).all()]
    bad = taken["bad_tensor"]
    if (bad >= 0).any():
        step = int(np.argmax(bad >= 0))
        found.append((step, f"The gradient of {tensors[int(bad[step])]}"))
    if not found:
        return None
    step, what = min(found)
    return (
        f"{what} is not finite from epoch {epoch}, step {first + step + 1}: the run cannot go on, and its last good checkpoint is kept. "
        "Lower the learning rates, or use float32, then clone the run."
    )
