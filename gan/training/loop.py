"""The training loop: from a configuration to a finished run. Free of TensorFlow until `train` is
called.

Starting is resuming: the newest valid checkpoint is always looked for first. Before a checkpoint is
committed the sink gets `Phase("saving")`; a sink that buffers must have everything before it on
disk when it returns, then no kill can lose an event.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ganboard.gan import data
from ganboard.gan.config import ConfigError, RunConfig
from ganboard.gan.devices import capabilities, hardware, runtime
from ganboard.gan.events import (
    Control,
    ControlSignal,
    Facts,
    Losses,
    Note,
    Outcome,
    Phase,
    Sink,
    Steps,
    TrainingFailed,
)
from ganboard.gan.landscape import projection
from ganboard.gan.training import lr_schedules
from ganboard.gan.training.guards.non_finite import NotFinite, first_not_finite, not_finite
from ganboard.gan.training.phase_reports import PhaseReports

if TYPE_CHECKING:
    from ganboard.gan.training.attempt import Attempt
    from ganboard.gan.training.hooks import TrainingState
    from ganboard.gan.training.runner import Report

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
    of: RunConfig | None = None,
) -> Outcome:
    """Train `config`, or resume where an earlier attempt stopped, until it is finished or `control`
    ends it.

    Checkpoints lie in `run_dir/checkpoints` and carry `attempt`, which must grow with every call on
    the same directory. What runs can share (the classifier that evaluates quality) is kept in
    `cache_dir`, by default inside `run_dir`. `on_hang` is called from another thread when no step
    has ended for so long that none will: it should end the process. `of` is the configuration of
    the run where this attempt deviates from it, as with fewer replicas.

    Raises ConfigError when this machine, this version or the data set cannot run `config`,
    TrainingFailed when its numbers are no longer finite, CheckpointError when the disk refuses the
    last state of an ending attempt, and whatever `sink` or `control` raise.
    """
    # Import TensorFlow.
    sink(Phase("importing"))
    runtime.prepare(config)
    from ganboard.gan.training.attempt import Attempt

    machine = hardware.describe()
    if sentence := capabilities.check(config, machine):
        raise ConfigError(sentence)

    # Load the data: all of it for an evaluation, which is the same for every `limit`.
    sink(Phase("loading"))
    wanted = config.model_copy(update={"limit": None}) if config.quality_every else config
    dataset = data.load(wanted, data_dir, PhaseReports(sink))

    # Build the networks, restore the newest checkpoint, and say what begins.
    sink(Phase("building"))
    current = Attempt(
        config,
        machine=machine,
        dataset=dataset,
        run_dir=run_dir,
        data_dir=data_dir,
        cache_dir=cache_dir or run_dir / "cache",
        number=attempt,
        sink=sink,
        control=control,
        on_hang=on_hang,
        of=of,
    )
    current.announce()
    if current.finished:
        return "finished"

    deadline = time.monotonic() + 60 * config.max_minutes if config.max_minutes else math.inf
    with current.state.watchdog, current.profile:
        _compile(current)
        current.profile.begin(current.state.progress.step)
        current.state.epoch_metrics.begin()
        while True:
            signal, trouble = _take_steps(current, deadline)
            if trouble is not None:
                _recover(current, trouble)
                continue
            if current.at_end_of_epoch:
                _finish_epoch(current)
            if current.finished or signal != "go":
                return _leave(current, signal)
            current.state.run_due(current.checkpoint, ended=True)


def _compile(current: Attempt) -> None:
    """Trace and compile the training step."""
    state = current.state
    current.sink(Phase("compiling"))
    began = time.monotonic()
    order = current.order(state.progress.epoch + 1)
    current.runner.warm_up(order)
    state.watchdog.heartbeat()
    current.sink(Facts(current.stepper.graph_facts(order)))
    state.progress.compile_seconds += time.monotonic() - began
    current.sink(Phase("training"))


def _take_steps(current: Attempt, deadline: float) -> tuple[ControlSignal, NotFinite | None]:
    """Take the steps of an epoch, or of what is left of it.

    Ends early, with what `control` said, or with the first step whose numbers are not finite.
    """
    config = current.config
    state = current.state
    progress = state.progress
    per_epoch = current.plan.steps_per_epoch
    first = progress.g_losses.size
    state.epoch = progress.epoch + 1
    order = current.order(state.epoch)
    numbers = progress.step - first + np.arange(per_epoch)
    g_rates, d_rates = lr_schedules.rates(config, per_epoch, numbers, progress.rate_factor)
    rates = np.stack([g_rates, d_rates], axis=1)
    signal: ControlSignal = "go"
    trouble: NotFinite | None = None
    for report in current.runner.epoch(order, first, progress.step, rates[first:]):
        state.watchdog.heartbeat()
        begin = progress.step
        _log(state, report, rates)
        trouble = first_not_finite(begin, report.metrics, current.nets.tensors)
        asked = _asked(config, current.control, deadline, current.sink)
        signal = SIGNALS[current.agreement.number(SIGNALS.index(asked))]
        if trouble is not None or signal != "go":
            break
        if progress.g_losses.size < per_epoch:
            state.run_due(current.checkpoint, ended=False)
    return signal, trouble


def _recover(current: Attempt, trouble: NotFinite) -> None:
    """Go back to the newest checkpoint, once, and on with half the learning rates. Raises
    TrainingFailed."""
    config, state = current.config, current.state
    per_epoch = current.plan.steps_per_epoch
    if config.on_non_finite == "stop" or state.progress.rate_factor < 1:
        raise TrainingFailed(not_finite(config, per_epoch, trouble))
    state.progress = progress = current.restore()
    progress.rate_factor = 0.5
    current.sink(Note("error", not_finite(config, per_epoch, trouble, back_to=progress.step)))
    current.saver.saved_step = progress.step
    state.epoch_metrics.begin()


def _finish_epoch(current: Attempt) -> None:
    """Report the epoch whose last step was taken, and run what is due after it."""
    state = current.state
    g_path, d_path = (
        projection.path_point(current.config.seed, net, weights, current.initial_weights[net])
        for net, weights in enumerate(current.nets.weights())
    )
    state.run_due(current.weight_snapshot, ended=True)
    seconds = state.epoch_metrics.replica_seconds()
    for note in state.monitors.replicas(state.epoch, seconds):
        current.sink(note)
    seen = current.plan.steps_per_epoch * current.config.batch_size
    measures = state.epoch_metrics.measures()
    state.done = state.progress.finish_epoch(seen, g_path, d_path, measures)
    current.sink(state.done)
    state.run_due(current.image_grid, current.evaluation, current.peak_measurement, ended=True)
    state.epoch_metrics.begin()


def _leave(current: Attempt, signal: ControlSignal) -> Outcome:
    """Save the last state of this attempt; `signal` is why it ends, if it is not finished."""
    with current.state.watchdog.paused():
        safe = current.saver.save(current.state.progress, leaving=True)
    if current.finished and safe:
        return "finished"
    if signal == "go":  # the last state was refused, and a stop was requested
        signal = current.control()
    return "suspended" if signal == "suspend" else "stopped"


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
            f"Stopped after max_minutes={config.max_minutes:g} of training. Resume to continue.",
        )
    )
    return "stop"
