"""One attempt at a run: everything that its steps and its hooks need, built from the configuration
and the newest checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy.typing as npt

from ganboard.gan.checkpoint import reader, snapshots, store
from ganboard.gan.checkpoint.saver import Saver
from ganboard.gan.checkpoint.transfer import transfer
from ganboard.gan.config import RunConfig, plan
from ganboard.gan.data import images, revision
from ganboard.gan.devices import capabilities
from ganboard.gan.distributed import cluster
from ganboard.gan.distributed import strategy as distribution
from ganboard.gan.distributed.agreement import Agreement
from ganboard.gan.events import Control, Facts, Note, OnDisk, Sink, Started, Steps
from ganboard.gan.layers import summary
from ganboard.gan.modeling import recipe
from ganboard.gan.progress import Progress
from ganboard.gan.rng import philox
from ganboard.gan.settings import registry
from ganboard.gan.training import epoch_metrics, hooks
from ganboard.gan.training.fit import FitLoop
from ganboard.gan.training.guards.monitors import Monitors
from ganboard.gan.training.guards.watchdog import Watchdog
from ganboard.gan.training.networks import networks
from ganboard.gan.training.profile import Profile
from ganboard.gan.training.runner import CustomLoop, Runner
from ganboard.gan.training.step import Stepper

_NAMED = 4  # tensors in the note of a run that starts from another one


class Attempt:
    """The parts of one attempt, and the state that they share."""

    def __init__(
        self,
        config: RunConfig,
        *,
        machine: dict[str, Any],
        dataset: Any,
        run_dir: Path,
        data_dir: Path,
        cache_dir: Path,
        number: int,
        sink: Sink,
        control: Control,
        on_hang: Callable[[], None],
        of: RunConfig | None = None,
    ) -> None:
        examples = dataset.first(config.limit)
        self.config = config
        self.sink = sink
        self.control = control
        self.plan = plan(config, len(examples))
        self._machine = machine
        self._dataset = dataset

        # Build the networks and restore the newest checkpoint.
        strategy = distribution.strategy(config)
        self.agreement = Agreement(strategy)
        model = recipe.make(config)
        with strategy.scope():
            self.nets = networks(config, model)
        self.initial_weights = self.nets.weights()
        self._untrained = self.nets.arrays()
        self._directory = run_dir / "checkpoints"
        self._runs = run_dir.parent
        self._digest = store.config_hash(of or config, len(examples))
        progress = self.restore()
        sink(OnDisk(reader.found(self._directory)))

        # Prepare the step, and what is done between steps.
        agree = self.agreement.number
        self.stepper = Stepper(config, strategy, self.nets, examples, model)
        watchdog = Watchdog(config.stall_seconds, sink, on_hang)
        self.profile = Profile(config, run_dir, sink, watchdog, leads=self.agreement.leads)
        self.runner: Runner = (
            FitLoop(self.stepper, agree, self.profile.call)
            if config.loop == "fit"
            else CustomLoop(self.stepper, agree, self.profile.call)
        )
        self._pictures = model.pictures(examples)
        self.state = hooks.TrainingState(
            config=config,
            model=model,
            nets=self.nets,
            examples=examples,
            progress=progress,
            epoch_metrics=epoch_metrics.EpochMetrics(config),
            monitors=Monitors(config, self.plan.steps_per_epoch, self._pictures, cluster.hosts()),
            watchdog=watchdog,
            sink=sink,
            leads=self.agreement.leads,
        )
        self.saver = Saver(
            config,
            self._directory,
            self._digest,
            number,
            self.nets.arrays,
            sink,
            progress.step,
            control,
            writes=self.agreement.leads,
        )
        self.checkpoint = hooks.Checkpoint(self.saver)
        self.weight_snapshot = hooks.WeightSnapshot(
            config, run_dir / snapshots.FOLDER, self.initial_weights
        )
        self.image_grid = hooks.ImageGrid(config)
        self.evaluation = hooks.Evaluation(config, dataset, data_dir, cache_dir)
        self.peak_measurement = hooks.PeakMeasurement(config, machine, cache_dir)

    def order(self, epoch: int) -> npt.NDArray[Any]:
        """The examples of an epoch in the order in which they are seen: each once, unless the model
        has a curriculum."""
        order = philox.order(self.config.seed, epoch, self.plan.examples)
        curriculum = getattr(self.state.model, "curriculum", None)
        return curriculum(epoch, order) if curriculum else order

    @property
    def finished(self) -> bool:
        return self.state.progress.epoch >= self.config.epochs

    @property
    def at_end_of_epoch(self) -> bool:
        """Whether all steps of an epoch are taken and it is not yet reported."""
        return self.state.progress.g_losses.size == self.plan.steps_per_epoch

    def restore(self) -> Progress:
        """Assign the newest valid checkpoint of the first process in all of them, or the state that
        the run begins with."""
        untrained = self._untrained
        found = None
        if self.agreement.leads:
            found = store.load(self._directory, untrained, digest=self._digest, sink=self.sink)
            if found is None and self.config.start_from:
                found = self._transferred(), Progress()
        arrays, progress = found or (untrained, Progress())
        self.nets.assign(self.agreement.arrays(dict(arrays)))
        return Progress.of(self.agreement.arrays(progress.arrays()))

    def _transferred(self) -> reader.Arrays:
        """The first weights, from another run's checkpoint. Raises CheckpointError."""
        run = self.config.start_from
        given = transfer(self._runs / run / "checkpoints", self._untrained)
        count = given.taken + len(given.new)
        source = f"step {given.step:,} of run {run}, {given.taken} of {count} tensors"
        named = ", ".join(given.new[:_NAMED]) + ", ..." * (len(given.new) > _NAMED)
        others = f" Untrained: {named}." if named else ""
        self.sink(Note("info", f"Starts from {source}.{others}"))
        self.sink(Facts({"start_from": source}))
        return given.arrays

    def announce(self) -> None:
        """Report what begins, before the first step."""
        config, sink, nets, progress = self.config, self.sink, self.nets, self.state.progress
        sink(
            Started(
                self._machine,
                self.plan.examples,
                self.plan.steps_per_epoch,
                progress.step,
                nets.generator.count_params(),
                nets.discriminator.count_params(),
            )
        )
        for text in capabilities.remarks(config, self._machine):
            sink(Note("info", text))
        for text in getattr(self._dataset, "remarks", ()):
            sink(Note("info", text))
        if skipped := getattr(self._dataset, "skipped", ()):
            sink(Note("warning", images.skipped(skipped)))
        if getattr(config, "skip_unreadable", False):
            sink(Facts({"skipped_pictures": len(skipped)}))
        sink(Facts(epoch_metrics.facts(config, self._machine, self.plan.examples)))
        if source := registry.of(config).source:
            sink(Facts({registry.SOURCE: source}))
        if (revised := revision.current({"dataset": config.dataset})) > 1:
            sink(Facts({revision.FACT: revised}))
        layers = {
            "generator_layers": summary.describe(nets.generator),
            "discriminator_layers": summary.describe(nets.discriminator),
            "generator_summary": summary.table(nets.generator),
            "discriminator_summary": summary.table(nets.discriminator),
        }
        sink(Facts(layers))
        if progress.step == 0 and self.agreement.leads:
            self.image_grid.draw_real(sink, self._pictures)
            self.image_grid.run(self.state)
        if progress.g_losses.size:  # a sink may have lost the steps before the checkpoint
            sink(Steps(progress.epoch + 1, 0, progress.g_losses, progress.d_losses))
