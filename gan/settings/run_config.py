"""`RunConfig`: the settings that every training has and the rules between them; the base of each
model's own. Free of TensorFlow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import model_validator

from ganboard.gan import needs, profiling, scheduler_options
from ganboard.gan.settings.declarations import Setting, declared
from ganboard.gan.settings.problems import problem
from ganboard.gan.settings.table import Settings


class RunConfig(Settings):
    """All that determines a run. Equal configurations give equal losses on equal hardware."""

    # the data sets of the model, each with what images_path has to name for it; empty where it is
    # not read from a path
    datasets: ClassVar[Mapping[str, str]] = {}
    # other defaults that a model has for settings of all models
    defaults: ClassVar[Mapping[str, Any]] = {}

    @classmethod
    def about(cls, name: str) -> Setting:
        """What is declared about a setting beside its type, default, limits and description; next
        to nothing for one that this model does not have."""
        field = cls.model_fields.get(name)
        return declared(field) if field else Setting("Unknown")

    def has_effect(self, name: str) -> bool:
        """Whether a setting changes anything beside the other settings."""
        return self.about(name).has_effect(vars(self))

    @property
    def d_updates(self) -> int:
        """Updates of D for each update of G."""
        return 1

    @property
    def logits_are_probabilities(self) -> bool:
        """Whether the sigmoid of D's output is D's opinion: not with losses such as hinge."""
        return True

    @property
    def g_learns_from_d(self) -> bool:
        """Whether D's opinion has a part in G's loss."""
        return True

    @model_validator(mode="after")
    def _fits_together(self) -> RunConfig:
        self._check_data()
        self._check_batch()
        self._check_local_steps()
        self._check_schedule()
        self._check_place()
        self._check_own()
        self._check_amounts()
        return self

    def _check_own(self) -> None:
        """The rules of a model between its own settings: raises `problem`."""

    def _check_data(self) -> None:
        if not self.datasets:  # no model's
            return
        if self.dataset not in self.datasets:
            raise problem(
                f"model={self.model} does not learn from dataset={self.dataset}: choose one of"
                f" {', '.join(self.datasets)}."
            )
        named = self.datasets[self.dataset]
        if named and not self.images_path:
            raise problem(f"dataset={self.dataset} needs images_path: {named}.")
        if self.images_path and not named:
            paths = [name for name, what in self.datasets.items() if what]
            raise problem(
                f"images_path={self.images_path!r} is only used with dataset={' or '.join(paths)}:"
                " set that, or leave images_path empty."
            )

    def _check_batch(self) -> None:
        if self.strategy == "default" and self.replicas != 1:
            raise problem(
                f"replicas={self.replicas} needs strategy=mirrored or auto: strategy=default runs"
                " on one device."
            )
        if self.strategy == "multi_worker" and self.replicas < 2:
            raise problem(
                "replicas=1 is too few for strategy=multi_worker: set replicas to the number of"
                " processes, 2 or more."
            )
        if self.hosts > 1 and (self.strategy != "multi_worker" or self.replicas % self.hosts):
            raise problem(
                f"hosts={self.hosts} needs strategy=multi_worker and replicas={self.hosts} or a"
                f" multiple of that, an equal share for each machine (now"
                f" strategy={self.strategy}, replicas={self.replicas})."
            )
        parts, names = self.replicas * self.accumulate, f"replicas={self.replicas}"
        if self.accumulate > 1:
            names += f" times accumulate={self.accumulate}"
        if self.batch_size % parts:
            lower = self.batch_size // parts * parts
            raise problem(
                f"batch_size={self.batch_size} does not divide among {names}: "
                f"use a multiple of {parts}, such as {lower or parts} or {lower + parts}."
            )

    def _check_local_steps(self) -> None:
        """Rules of local SGD, whose processes differ between two averages."""
        if self.average_every == 1:
            return
        wanted = {
            "strategy": ("multi_worker", self.strategy),
            "loop": ("custom", self.loop),
            "sync_batch_norm": (False, self.sync_batch_norm),
        }
        for name, (needed, found) in wanted.items():
            if found != needed:
                raise problem(
                    f"average_every={self.average_every} needs {name}={str(needed).lower()} (now"
                    f" {str(found).lower()}): set that, or average_every=1."
                )
        if self.precision == "mixed_float16":
            raise problem(
                f"average_every={self.average_every} does not work with precision=mixed_float16,"
                " whose loss scale would differ between processes: use mixed_bfloat16."
            )

    def _check_schedule(self) -> None:
        for name in ("schedule_period", "schedule_minimum", "warmup_epochs"):
            if self.has_effect(name) and getattr(self, name) > self.epochs:
                raise problem(
                    f"{name}={getattr(self, name):g} is beyond the run's end: lower it to"
                    f" epochs={self.epochs} or less."
                )

    def _check_place(self) -> None:
        for name in ("needs", "prefers"):
            try:
                needs.parse(getattr(self, name))
            except needs.BadNeed as error:
                raise problem(f"{name} cannot be used: {error}.") from None

        try:
            scheduler_options.check(self.placement, self.scheduler_options)
        except scheduler_options.BadOption as error:
            raise problem(f"scheduler_options cannot be used: {error}.") from None

    def _check_amounts(self) -> None:
        if self.limit is not None and self.limit < self.batch_size:
            raise problem(
                f"batch_size={self.batch_size} is larger than limit={self.limit}: lower batch_size"
                " or raise limit."
            )
        try:
            profiling.steps(self.profile_steps)
        except profiling.BadSteps as error:
            raise problem(str(error)) from None

    @property
    def effective_strategy(self) -> str:
        """The strategy that `auto` stands for."""
        if self.strategy != "auto":
            return self.strategy
        return "mirrored" if self.replicas > 1 else "default"

    @property
    def processes(self) -> int:
        """Trainer processes on each machine."""
        several = self.effective_strategy == "multi_worker"
        return self.replicas // self.hosts if several else 1

    def on_hosts(self, count: int) -> RunConfig | None:
        """The same training on fewer machines, each with as many processes as before; None where
        the batch does not divide among them."""
        replicas = self.processes * count
        if self.batch_size % (replicas * self.accumulate):
            return None
        strategy = "multi_worker" if replicas > 1 else "default"
        return self.model_copy(update={"hosts": count, "replicas": replicas, "strategy": strategy})

    @property
    def per_replica_batch(self) -> int:
        return self.batch_size // self.replicas

    @property
    def micro_batch(self) -> int:
        """Images that one replica passes through the networks at a time."""
        return self.per_replica_batch // self.accumulate
