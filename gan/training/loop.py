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
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ganboard.gan import data
from ganboard.gan.checkpoint import snapshots, store
from ganboard.gan.checkpoint.saver import Saver
from ganboard.gan.config import ConfigError, RunConfig, plan
from ganboard.gan.data import images, revision
from ganboard.gan.devices import capabilities, hardware, runtime
from ganboard.gan.events import (
    REAL_IMAGES,
    Control,
    Facts,
    Grid,
    Note,
    OnDisk,
    Outcome,
    Phase,
    Quality,
    Sink,
    Started,
    Steps,
    TrainingFailed,
    Verdict,
)
from ganboard.gan.landscape import projection
from ganboard.gan.progress import Progress
from ganboard.gan.rng import philox
from ganboard.gan.training import lr_schedules
from ganboard.gan.training.monitors import Guards, NotFinite, first_loss_not_finite, not_finite
from ganboard.gan.training.watchdog import Watchdog

if TYPE_CHECKING:
    from ganboard.gan.training.step import Taken

VERDICTS: tuple[Verdict, ...] = ("go", "stop", "suspend")


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
    the same directory. What runs can share (the classifier that judges quality) is kept in
    `cache_dir`, by default inside `run_dir`. `on_hang` is called from another thread when no step
    has ended for so long that none will: it should end the process. Raises ConfigError when this
    machine, this version or the data set cannot run `config`, TrainingFailed when its numbers are
    no longer finite, CheckpointError when the disk refuses the last state of an ending attempt, and
    whatever `sink` or `control` raise.
    """
    # Import TensorFlow.
    sink(Phase("importing"))
    runtime.prepare(config)
    from ganboard.gan.devices import peak_flops
    from ganboard.gan.distributed import strategy as distribution
    from ganboard.gan.distributed.agreement import Agreement
    from ganboard.gan.layers import summary
    from ganboard.gan.modeling import recipe, samples
    from ganboard.gan.training import epoch_metrics, fit, runner, step

    machine = hardware.describe()
    if sentence := capabilities.check(config, machine):
        raise ConfigError(sentence)

    # Load the data.
    sink(Phase("loading"))
    dataset = data.load(
        config.model_copy(update={"limit": None}) if config.quality_every else config, data_dir
    )
    examples = dataset.first(config.limit)
    amounts = plan(config, len(examples))
    per_epoch = amounts.steps_per_epoch

    # Build the networks and restore the newest checkpoint.
    strategy = distribution.strategy(config)
    model = recipe.make(config)
    with strategy.scope():
        nets = step.networks(config, model)
    trained = nets.generator.trainable_variables, nets.discriminator.trainable_variables
    initial = [[v.numpy() for v in variables] for variables in trained]
    untrained = nets.arrays()
    directory, digest = run_dir / "checkpoints", store.config_hash(config, len(examples))

    shared = Agreement(strategy)

    def restore() -> Progress:
        found = store.load(directory, untrained, digest=digest, sink=sink) if shared.leads else None
        arrays, progress = found or (untrained, Progress())
        nets.assign(shared.arrays(dict(arrays)))
        return Progress.of(shared.arrays(progress.arrays()))

    def agree(number: int) -> int:
        return int(shared.numbers(number)[0])

    progress = restore()
    sink(OnDisk(store.found(directory)))
    saver = Saver(
        config,
        directory,
        digest,
        attempt,
        nets.arrays,
        sink,
        progress.step,
        control,
        writes=shared.leads,
    )
    stepper = step.Stepper(config, strategy, nets, examples, model)
    looped: runner.Runner = (
        fit.FitLoop(stepper, agree) if config.loop == "fit" else runner.CustomLoop(stepper, agree)
    )
    pictures = model.pictures(examples)
    measured, guards = epoch_metrics.Measures(config), Guards(config, per_epoch, pictures)
    judge: recipe.Judge | None = None

    def draw_real() -> None:
        if shared.leads:
            sink(
                Grid(
                    REAL_IMAGES,
                    samples.png(samples.real(config, pictures), config.grid_size),
                    config.grid_size,
                    config.grid_size,
                )
            )

    def draw(epoch: int) -> None:
        if not shared.leads:
            return
        made = model.grid(nets.shown, examples)
        sink(Grid(epoch, samples.png(made, config.grid_size), config.grid_size, config.grid_size))
        for note in guards.grid(epoch, made):
            sink(note)

    def keep(epoch: int, weights: list[snapshots.Moves]) -> None:
        moves = [
            [now - then for now, then in zip(*pair, strict=True)]
            for pair in zip(weights, initial, strict=True)
        ]
        try:
            snapshots.save(run_dir / snapshots.FOLDER, epoch, moves)
        except OSError as error:
            sink(
                Note(
                    "warning",
                    f"The weights of epoch {epoch} are not kept for the descent path:"
                    f" {error.strerror or error}.",
                )
            )

    def assess(epoch: int) -> None:
        nonlocal judge
        if not shared.leads:
            return
        sink(Phase("judging"))
        began, preparation = time.monotonic(), 0.0
        if judge is None:
            judge = model.judge(
                dataset, cache_dir or run_dir / "cache", lambda share: watchdog.beat()
            )
            for text in judge.remarks:
                sink(Note("info", text))
            preparation = time.monotonic() - began
        figures, histogram = judge(nets.shown)
        quality = Quality(
            epoch=epoch,
            seconds=time.monotonic() - began - preparation,
            training_seconds=progress.training_seconds,
            measures=figures,
            histogram=histogram,
            preparation_seconds=preparation,
        )
        sink(quality)
        sink(Facts(dict(judge.facts)))
        for note in guards.judged(quality):
            sink(note)
        sink(Phase("training"))

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
    sink(
        Facts(
            {
                "generator_layers": summary.words(nets.generator),
                "discriminator_layers": summary.words(nets.discriminator),
            }
        )
    )
    if progress.step == 0:
        draw_real()
        draw(0)
    if progress.g_losses.size:  # a sink may have lost the steps before the checkpoint
        sink(Steps(progress.epoch + 1, 0, progress.g_losses, progress.d_losses))
    if progress.epoch >= config.epochs:
        return "finished"

    verdict: Verdict = "go"
    trouble: NotFinite | None = None
    deadline = time.monotonic() + 60 * config.max_minutes if config.max_minutes else math.inf

    def asked() -> Verdict:
        wish = control()
        if wish != "go" or time.monotonic() < deadline:
            return wish
        sink(
            Note(
                "warning",
                f"Stopped after max_minutes={config.max_minutes:g} of training in one go: resume"
                " goes on.",
            )
        )
        return "stop"

    def report(news: runner.Report) -> bool:
        """After every call of the training step: tell what it did, and whether to go on."""
        nonlocal verdict, trouble
        watchdog.beat()
        epoch, first, taken = progress.epoch + 1, progress.g_losses.size, news.taken
        progress.add(taken["g_loss"], taken["d_loss"], news.seconds)
        measured.add(news)
        used = due[first : first + len(taken)]
        sink(Steps(epoch, first, taken["g_loss"], taken["d_loss"], measured.series(taken, used)))
        for note in guards.opinions(progress.step - len(taken), taken["d_real"], taken["d_fake"]):
            sink(note)
        trouble = first_not_finite(progress.step - len(taken), taken, nets.tensors)
        verdict = VERDICTS[agree(VERDICTS.index(asked()))]
        if (
            trouble is None
            and verdict == "go"
            and progress.g_losses.size < per_epoch
            and saver.due(None)
        ):
            saver.save(progress, leaving=False)
        return trouble is None and verdict == "go"

    with Watchdog(config.stall_seconds, sink, on_hang) as watchdog:
        # Trace and compile the training step.
        sink(Phase("compiling"))
        began = time.monotonic()
        order = philox.order(config.seed, progress.epoch + 1, amounts.examples)
        looped.warm_up(order)
        watchdog.beat()
        sink(Facts(stepper.graph_facts(order)))
        progress.compile_seconds += time.monotonic() - began
        sink(Phase("training"))

        measured.begin()
        while True:
            # Take the steps of an epoch.
            epoch, first = progress.epoch + 1, progress.g_losses.size
            order = philox.order(config.seed, epoch, amounts.examples)
            due = np.stack(
                lr_schedules.rates(
                    config,
                    per_epoch,
                    progress.step - first + np.arange(per_epoch),
                    progress.rate_factor,
                ),
                1,
            )
            looped.epoch(order, first, progress.step, due[first:], report)

            # Recover once from numbers that are not finite.
            if trouble is not None:
                if config.on_non_finite == "stop" or progress.rate_factor < 1:
                    raise TrainingFailed(not_finite(config, per_epoch, trouble))
                progress = restore()
                progress.rate_factor = 0.5
                sink(Note("error", not_finite(config, per_epoch, trouble, back_to=progress.step)))
                trouble, saver.saved_step = None, progress.step
                measured.begin()
                continue

            # Finish the epoch.
            ended = progress.g_losses.size == per_epoch
            if ended:
                weights = [[v.numpy() for v in variables] for variables in trained]
                g_path, d_path = (
                    projection.path_point(config.seed, net, weights[net], initial[net])
                    for net in range(2)
                )
                if shared.leads and snapshots.due(epoch, config.epochs, config.snapshots):
                    keep(epoch, weights)
                for note in guards.replicas(epoch, measured.replica_seconds()):
                    sink(note)
                done = progress.finish_epoch(
                    per_epoch * config.batch_size, g_path, d_path, measured.epoch()
                )
                sink(done)
                if epoch % config.grid_every == 0 or epoch == config.epochs:
                    draw(epoch)
                if config.quality_every and (
                    epoch % config.quality_every == 0 or epoch == config.epochs
                ):
                    with watchdog.paused():
                        assess(epoch)
                if measured.peak_gflops is None and shared.leads:
                    measured.peak_gflops = peak_flops.best(
                        config.precision, machine, cache_dir or run_dir / "cache"
                    )
                    sink(
                        Facts(
                            {
                                "peak_gflops": measured.peak_gflops,
                                "measured_memory_bytes": done.measures["peak_memory_bytes"],
                            }
                        )
                    )
                measured.begin()

            # Save, go on or leave.
            if progress.epoch >= config.epochs or verdict != "go":
                with watchdog.paused():
                    safe = saver.save(progress, leaving=True)
                if progress.epoch >= config.epochs and safe:
                    return "finished"
                return (
                    "suspended"
                    if (verdict if verdict != "go" else control()) == "suspend"
                    else "stopped"
                )
            if saver.due(epoch):
                saver.save(progress, leaving=False)


def first_not_finite(first_step: int, taken: Taken, tensors: Sequence[str]) -> NotFinite | None:
    """The first value of consecutive steps that is not finite; `first_step` counts from 0 over the
    whole run."""
    found = [first_loss_not_finite(first_step, taken["g_loss"], taken["d_loss"])]
    bad = taken["bad_tensor"] >= 0
    if bad.any():
        name = tensors[int(taken["bad_tensor"][bad.argmax()])]
        found.append(
            NotFinite(
                "generator" if name.startswith("generator") else "discriminator",
                "gradient",
                first_step + int(bad.argmax()),
                name,
            )
        )
    for net in ("discriminator", "generator"):
        bad = ~np.isfinite(taken[f"{net[0]}_update"])
        if bad.any():
            found.append(NotFinite(net, "weight", first_step + int(bad.argmax())))
    return min((one for one in found if one), key=lambda one: one.step, default=None)
