"""The training loop: from a configuration to a finished run. Free of TensorFlow until `train` is called.

Starting is resuming: the newest valid checkpoint is always looked for first. Before a checkpoint is committed the sink gets
`Phase("saving")`; a sink that buffers must have everything before it on disk when it returns, then no kill can lose an event.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from gan import capabilities, checkpoints, data, hardware, keys, projection, runtime
from gan.config import ConfigError, RunConfig, plan
from gan.events import Control, Grid, Losses, Note, Outcome, Phase, Sink, Started, Steps
from gan.pace import Pace
from gan.progress import Progress
from gan.saver import Saver


def train(config: RunConfig, *, run_dir: Path, data_dir: Path, attempt: int, sink: Sink, control: Control) -> Outcome:
    """Train `config`, or go on where an earlier attempt stopped, until it is finished or `control` says otherwise.

    Checkpoints lie in `run_dir/checkpoints` and carry `attempt`, which must grow with every call on the same directory.
    Raises ConfigError when this machine, this version or the data set cannot run `config`, CheckpointError when the disk refuses the last
    state of an ending attempt, and whatever `sink` or `control` raise.
    """
    # Import TensorFlow.
    sink(Phase("importing"))
    runtime.prepare(config)
    from gan import distribution, samples, step

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
    directory, digest = run_dir / "checkpoints", checkpoints.config_hash(config, len(images))
    progress = Progress()
    if restored := checkpoints.load(directory, nets.arrays(), digest=digest, sink=sink):
        arrays, progress = restored
        nets.assign(arrays)
    saver = Saver(config, directory, digest, attempt, nets.arrays, sink, saved_step=progress.step)
    stepper = step.Stepper(config, strategy, nets, images)

    # Say what begins.
    parameters = nets.generator.count_params(), nets.discriminator.count_params()
    sink(Started(machine, amounts.examples, per_epoch, progress.step, *parameters))
    for text in capabilities.remarks(config, machine):
        sink(Note("info", text))
    if progress.step == 0:
        sink(Grid(0, samples.grid_png(config, nets.generator), config.grid_size, config.grid_size))
    if progress.g_losses.size:  # a sink may have lost the steps before the checkpoint
        sink(Steps(progress.epoch + 1, 0, progress.g_losses, progress.d_losses))
    if progress.epoch >= config.epochs:
        return "finished"

    # Trace the training step.
    sink(Phase("compiling"))
    order = keys.order(config.seed, progress.epoch + 1, amounts.examples)
    began = time.monotonic()
    stepper.run(order, 0, progress.step, 0)
    progress.compile_seconds += time.monotonic() - began
    sink(Phase("training"))
    pace, finite = Pace(), True

    while True:
        # Take some steps.
        epoch, first = progress.epoch + 1, progress.g_losses.size
        count = min(pace.count, per_epoch - first)
        began = time.monotonic()
        g_losses, d_losses = stepper.run(order, first, progress.step, count)
        seconds, compile_seconds = pace.split(time.monotonic() - began, count)
        progress.add(g_losses, d_losses, seconds, compile_seconds)
        sink(Steps(epoch, first, g_losses, d_losses))
        if finite and (sentence := not_finite(epoch, first, g_losses, d_losses)):
            finite = False
            sink(Note("error", sentence))

        # Finish the epoch.
        ended = progress.g_losses.size == per_epoch
        if ended:
            g_path, d_path = (projection.path_point(config.seed, net, [v.numpy() for v in trained[net]], initial[net]) for net in range(2))
            sink(progress.finish_epoch(per_epoch * config.batch_size, g_path, d_path))
            pace.end_epoch()
            if epoch % config.grid_every == 0 or epoch == config.epochs:
                sink(Grid(epoch, samples.grid_png(config, nets.generator), config.grid_size, config.grid_size))
            order = keys.order(config.seed, epoch + 1, amounts.examples)

        # Save, go on or leave.
        if progress.epoch >= config.epochs:
            saver.save(progress, leaving=True)
            return "finished"
        if (verdict := control()) != "go":
            saver.save(progress, leaving=True)
            return "stopped" if verdict == "stop" else "suspended"
        if saver.due(epoch if ended else None):
            saver.save(progress, leaving=False)


def not_finite(epoch: int, first: int, g_losses: Losses, d_losses: Losses) -> str | None:
    """A sentence about the first loss that is not finite, or None; `first` counts the steps of the epoch from 0."""
    bad = [
        (int(np.argmin(np.isfinite(losses))), net)
        for net, losses in (("discriminator", d_losses), ("generator", g_losses))
        if not np.isfinite(losses).all()
    ]
    if not bad:
        return None
    index, net = min(bad)
    return (
        f"The loss of the {net} is not finite from epoch {epoch}, step {first + index + 1}: the run cannot recover. "
        "Lower the learning rates, or use float32, and start again."
    )
