"""The training loop: from a configuration to a finished run. Free of TensorFlow until `train` is
called.

Starting is resuming: the newest valid checkpoint is always looked for first. Before a checkpoint is
committed the sink gets `Phase("saving")`; a sink that buffers must have everything before it on
disk when it returns, then no kill can lose an event.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ganboard.gan import data
from ganboard.gan.checkpoint import snapshots, store
from ganboard.gan.checkpoint.saver import Saver
from ganboard.gan.checkpoint.store import Arrays
from ganboard.gan.config import ConfigError, RunConfig, plan
from ganboard.gan.data import images, revision
from ganboard.gan.devices import capabilities, hardware, runtime
from ganboard.gan.events import (
    Control,
    ControlSignal,
    Facts,
    Losses,
    Note,
    OnDisk,
    Outcome,
    Phase,
    Sink,
    Started,
    Steps,
    TrainingFailed,
)
from ganboard.gan.landscape import projection
from ganboard.gan.progress import Progress
from ganboard.gan.rng import philox
from ganboard.gan.training import lr_schedules
from ganboard.gan.training.monitors import (
    Monitors,
    Net,
    NotFinite,
    first_loss_not_finite,
    not_finite,
)
from ganboard.gan.training.watchdog import Watchdog

if TYPE_CHECKING:
    from ganboard.gan.distributed.agreement import Agreement
    from ganboard.gan.training.hooks import TrainingState
    from ganboard.gan.training.networks import Networks
    from ganboard.gan.training.runner import Report
    from ganboard.gan.training.step_metrics import StepMetrics

SIGNALS: tuple[ControlSignal, ...] = ("go", "stop", "suspend")


def train(
    config: RunConfig,
    *,
    run_dir: Path,
    data_dir: Path,
    attempt: int,
    sink: Sink,
    control: Control,
    cache_dir: Path | None = None,
    on_hang: Callable[[], None] = lambda: None,
) -> Outcome:
    """Train `config`, or go on where an earlier attempt stopped, until it is finished or `control`
    says otherwise.

    Checkpoints lie in `run_dir/checkpoints` and carry `attempt`, which must grow with every call on
    the same directory. What runs can share (the classifier that evaluates quality) is kept in
    `cache_dir`, by default inside `run_dir`. `on_hang` is called from another thread when no step
    has ended for so long that none will: it should end the process. Raises ConfigError when this
    machine, this version or the data set cannot run `config`, TrainingFailed when its numbers are
    no longer finite, CheckpointError when the disk refuses the last state of an ending attempt, and
    whatever `sink` or `control` raise.
    """
    cache_dir = cache_dir or run_dir / "cache"

    # Import TensorFlow.
    sink(Phase("importing"))
    runtime.prepare(config)
    from ganboard.gan.distributed import strategy as distribution
    from ganboard.gan.distributed.agreement import Agreement
    from ganboard.gan.layers import summary
    from ganboard.gan.modeling import recipe
    from ganboard.gan.training import epoch_metrics, fit, hooks, runner, step

    machine = hardware.describe()
    if sentence := capabilities.check(config, machine):
        raise ConfigError(sentence)

    # Load the data: all of it for an evaluation, which is the same for every `limit`.
    sink(Phase("loading"))
    wanted = config.model_copy(update={"limit": None}) if config.quality_every else config
    dataset = data.load(wanted, data_dir)
    examples = dataset.first(config.limit)
    amounts = plan(config, len(examples))
    per_epoch = amounts.steps_per_epoch

    # Build the networks and restore the newest checkpoint.
    strategy = distribution.strategy(config)
    agreement = Agreement(strategy)
    model = recipe.make(config)
    with strategy.scope():
        nets = step.networks(config, model)
    initial_weights = nets.weights()
    directory = run_dir / "checkpoints"
    digest = store.config_hash(config, len(examples))
    restore = partial(_restore, nets, nets.arrays(), agreement, directory, digest, sink)
    progress = restore()
    sink(OnDisk(store.found(directory)))

    # Get ready to train.
    stepper = step.Stepper(config, strategy, nets, examples, model)
    steps_runner: runner.Runner = (
        fit.FitLoop(stepper, agreement.number)
        if config.loop == "fit"
        else runner.CustomLoop(stepper, agreement.number)
    )
    pictures = model.pictures(examples)
    state = hooks.TrainingState(
        config=config,
        model=model,
        nets=nets,
        examples=examples,
        progress=progress,
        epoch_metrics=epoch_metrics.EpochMetrics(config),
        monitors=Monitors(config, per_epoch, pictures),
        watchdog=Watchdog(config.stall_seconds, sink, on_hang),
        sink=sink,
        leads=agreement.leads,
    )
    saver = Saver(
        config,
        directory,
        digest,
        attempt,
        nets.arrays,
        sink,
        progress.step,
        control,
        writes=agreement.leads,
    )
    weight_snapshot = hooks.WeightSnapshot(config, run_dir / snapshots.FOLDER, initial_weights)
    image_grid = hooks.ImageGrid(config)
    evaluation = hooks.Evaluation(config, dataset, cache_dir)
    peak_measurement = hooks.PeakMeasurement(config, machine, cache_dir)
    checkpoint = hooks.Checkpoint(saver)

    # Say what begins.
    sink(
        Started(
            machine,
            amounts.examples,
            per_epoch,
            progress.step,
            nets.generator.count_params(),
            nets.discriminator.count_params(),
        )
    )
    for text in capabilities.remarks(config, machine):
        sink(Note("info", text))
    if skipped := getattr(dataset, "skipped", ()):
        sink(Note("warning", images.skipped(skipped)))
    if config.skip_unreadable:
        sink(Facts({"skipped_pictures": len(skipped)}))
    sink(Facts(epoch_metrics.facts(config, machine, amounts.examples)))
    if (revised := revision.current({"dataset": config.dataset})) > 1:
        sink(Facts({revision.FACT: revised}))
    layers = {
        "generator_layers": summary.words(nets.generator),
        "discriminator_layers": summary.words(nets.discriminator),
    }
    sink(Facts(layers))
    if progress.step == 0 and agreement.leads:
        image_grid.draw_real(sink, pictures)
        image_grid.run(state)
    if progress.g_losses.size:  # a sink may have lost the steps before the checkpoint
        sink(Steps(progress.epoch + 1, 0, progress.g_losses, progress.d_losses))
    if progress.epoch >= config.epochs:
        return "finished"

    deadline = time.monotonic() + 60 * config.max_minutes if config.max_minutes else math.inf
    with state.watchdog:
        # Trace and compile the training step.
        sink(Phase("compiling"))
        began = time.monotonic()
        order = philox.order(config.seed, progress.epoch + 1, amounts.examples)
        steps_runner.warm_up(order)
        state.watchdog.beat()
        sink(Facts(stepper.graph_facts(order)))
        progress.compile_seconds += time.monotonic() - began
        sink(Phase("training"))

        signal: ControlSignal = "go"
        trouble: NotFinite | None = None
        state.epoch_metrics.begin()
        while True:
            # Take the steps of an epoch, or of what is left of it.
            state.epoch = progress.epoch + 1
            first = progress.g_losses.size
            order = philox.order(config.seed, state.epoch, amounts.examples)
            numbers = progress.step - first + np.arange(per_epoch)
            g_rates, d_rates = lr_schedules.rates(config, per_epoch, numbers, progress.rate_factor)
            rates = np.stack([g_rates, d_rates], axis=1)
            for report in steps_runner.epoch(order, first, progress.step, rates[first:]):
                state.watchdog.beat()
                begin = progress.step
                _log(state, report, rates)
                trouble = first_not_finite(begin, report.metrics, nets.tensors)
                asked = _asked(config, control, deadline, sink)
                signal = SIGNALS[agreement.number(SIGNALS.index(asked))]
                if trouble is not None or signal != "go":
                    break
                if progress.g_losses.size < per_epoch:
                    state.run_due(checkpoint, ended=False)

            # Recover once from numbers that are not finite.
            if trouble is not None:
                if config.on_non_finite == "stop" or progress.rate_factor < 1:
                    raise TrainingFailed(not_finite(config, per_epoch, trouble))
                state.progress = progress = restore()
                progress.rate_factor = 0.5
                sink(Note("error", not_finite(config, per_epoch, trouble, back_to=progress.step)))
                trouble = None
                saver.saved_step = progress.step
                state.epoch_metrics.begin()
                continue

            # Finish the epoch.
            if progress.g_losses.size == per_epoch:
                g_path, d_path = (
                    projection.path_point(config.seed, net, weights, initial_weights[net])
                    for net, weights in enumerate(nets.weights())
                )
                state.run_due(weight_snapshot, ended=True)
                seconds = state.epoch_metrics.replica_seconds()
                for note in state.monitors.replicas(state.epoch, seconds):
                    sink(note)
                seen = per_epoch * config.batch_size
                measures = state.epoch_metrics.measures()
                state.done = progress.finish_epoch(seen, g_path, d_path, measures)
                sink(state.done)
                state.run_due(image_grid, evaluation, peak_measurement, ended=True)
                state.epoch_metrics.begin()

            # Leave, or save and go on.
            finished = progress.epoch >= config.epochs
            if finished or signal != "go":
                with state.watchdog.paused():
                    safe = saver.save(progress, leaving=True)
                if finished and safe:
                    return "finished"
                if signal == "go":  # the last state was refused, and somebody asked to end
                    signal = control()
                return "suspended" if signal == "suspend" else "stopped"
            state.run_due(checkpoint, ended=True)


def _restore(
    nets: Networks,
    untrained: Arrays,
    agreement: Agreement,
    directory: Path,
    digest: str,
    sink: Sink,
) -> Progress:
    """Assign the newest valid checkpoint of the first process in all of them, or the `untrained`
    state."""
    found = store.load(directory, untrained, digest=digest, sink=sink) if agreement.leads else None
    arrays, progress = found or (untrained, Progress())
    nets.assign(agreement.arrays(dict(arrays)))
    return Progress.of(agreement.arrays(progress.arrays()))


def _log(state: TrainingState, report: Report, rates: Losses) -> None:
    """Count and report the steps that were just taken; `rates` [steps per epoch, 2] are those of
    the epoch."""
    progress, metrics = state.progress, report.metrics
    step = progress.step
    first = progress.g_losses.size
    progress.add(metrics.g_loss, metrics.d_loss, report.seconds)
    state.epoch_metrics.add(report)
    series = state.epoch_metrics.series(metrics, rates[first : first + len(metrics)])
    state.sink(Steps(state.epoch, first, metrics.g_loss, metrics.d_loss, series))
    for note in state.monitors.opinions(step, metrics.d_real, metrics.d_fake):
        state.sink(note)


def _asked(config: RunConfig, control: Control, deadline: float, sink: Sink) -> ControlSignal:
    """What `control` says; "stop" after `deadline`, in seconds of the monotonic clock."""
    signal = control()
    if signal != "go" or time.monotonic() < deadline:
        return signal
    sink(
        Note(
            "warning",
            f"Stopped after max_minutes={config.max_minutes:g} of training in one go: resume"
            " goes on.",
        )
    )
    return "stop"


def first_not_finite(
    first_step: int, metrics: StepMetrics, tensors: Sequence[str]
) -> NotFinite | None:
    """The first value of consecutive steps that is not finite; `first_step` counts from 0 over the
    whole run, `tensors` are those that `bad_tensor` numbers."""
    found = [first_loss_not_finite(first_step, metrics.g_loss, metrics.d_loss)]
    bad = metrics.bad_tensor >= 0
    if bad.any():
        step = int(bad.argmax())
        name = tensors[int(metrics.bad_tensor[step])]
        net: Net = "generator" if name.startswith("generator") else "discriminator"
        found.append(NotFinite(net, "gradient", first_step + step, name))
    updates: tuple[tuple[Net, Losses], ...] = (
        ("discriminator", metrics.d_update),
        ("generator", metrics.g_update),
    )
    for net, update in updates:
        bad = ~np.isfinite(update)
        if bad.any():
            found.append(NotFinite(net, "weight", first_step + int(bad.argmax())))
    return min((one for one in found if one), key=lambda one: one.step, default=None)
