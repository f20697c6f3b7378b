"""Configuration of one run: the settings, the rules between them, and what stored ones differ in.
Free of TensorFlow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import NoneType
from typing import Any, get_args

from pydantic import BaseModel, ValidationError, create_model, model_validator

from ganboard.gan.settings.metadata import has_effect
from ganboard.gan.settings.models import MODELS, PATHS, ignored
from ganboard.gan.settings.problems import problem, sentence
from ganboard.gan.settings.table import Settings

# in the configuration of every run, however old
REQUIRED = ("dataset", "batch_size", "epochs", "seed", "precision", "xla")
MAX_SENTENCES = 4  # of one ConfigError
# values of settings by the names that exports, packages, study files and scripts may still have
FORMER = {"dataset": {"street": "vortex_street"}}


def model_of(config: Mapping[str, Any]) -> str:
    """The model of a run's stored settings; DCGAN where they name none that is known."""
    return model if (model := config.get("model")) in MODELS else "dcgan"


def has_latent_space(config: Mapping[str, Any]) -> bool:
    """Whether the generator of a stored run has noise to explore."""
    return MODELS[model_of(config)].has_latent_space


class ConfigError(ValueError):
    """A configuration that cannot run; the message is one sentence for the person who wrote it."""


class RunConfig(Settings):
    """All that determines a run. Equal configurations give equal losses on equal hardware."""

    @model_validator(mode="after")
    def _fits_together(self) -> RunConfig:
        self._check_model()
        self._check_data()
        self._check_batch()
        self._check_schedule()
        self._check_loss()
        self._check_amounts()
        return self

    def _check_model(self) -> None:
        model = MODELS[self.model]
        if self.dataset not in model.datasets:
            raise problem(
                f"model={self.model} does not learn from dataset={self.dataset}: choose one of"
                f" {', '.join(model.datasets)}."
            )
        if model.geometries and self.geometry not in model.geometries:
            raise problem(
                f"model={self.model} has no geometry={self.geometry}: choose one of"
                f" {', '.join(model.geometries)}."
            )
        for name in ignored(self.model):
            value, default = getattr(self, name), type(self).model_fields[name].default
            if value != default:
                raise problem(
                    f"{name}={value} has no meaning for model={self.model}: leave it at {default}."
                )

    def _check_data(self) -> None:
        if self.dataset in PATHS and not self.images_path:
            raise problem(f"dataset={self.dataset} needs images_path: {PATHS[self.dataset]}.")
        if self.dataset not in PATHS and self.images_path:
            raise problem(
                f"images_path={self.images_path!r} is only used with dataset={' or '.join(PATHS)}:"
                " set that, or leave images_path empty."
            )
        if self.skip_unreadable and self.dataset != "images":
            raise problem(
                "skip_unreadable=true is only used with dataset=images, and"
                f" dataset={self.dataset}: set it to false."
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
        parts, names = self.replicas * self.accumulate, f"replicas={self.replicas}"
        if self.accumulate > 1:
            names += f" times accumulate={self.accumulate}"
        if self.batch_size % parts:
            lower = self.batch_size // parts * parts
            raise problem(
                f"batch_size={self.batch_size} does not divide among {names}: "
                f"use a multiple of {parts}, such as {lower or parts} or {lower + parts}."
            )

    def _check_schedule(self) -> None:
        for name in ("schedule_period", "schedule_minimum", "warmup_epochs"):
            if has_effect(name, vars(self)) and getattr(self, name) > self.epochs:
                raise problem(
                    f"{name}={getattr(self, name):g} is beyond the run's end: lower it to"
                    f" epochs={self.epochs} or less."
                )

    def _check_loss(self) -> None:
        if self.label_smoothing and self.loss not in ("non_saturating", "saturating"):
            raise problem(
                f"label_smoothing={self.label_smoothing:g} has no meaning for loss={self.loss},"
                " which has no labels: set it to 0."
            )
        if self.loss == "wgan_gp" and self.discriminator_batch_norm:
            raise problem(
                "loss=wgan_gp penalises the gradient of each image alone: set"
                " discriminator_batch_norm to false."
            )
        if self.recompute and (self.r1 or self.loss == "wgan_gp"):
            penalty = f"r1={self.r1:g}" if self.r1 else "loss=wgan_gp"
            raise problem(
                f"recompute=true cannot be combined with {penalty}, which needs gradients of"
                " gradients: set recompute to false."
            )

    def _check_amounts(self) -> None:
        if self.quality_every and self.dataset == "images":
            raise problem(
                "quality_every needs labelled images and dataset=images has none: set quality_every"
                " to 0."
            )
        if self.limit is not None and self.limit < self.batch_size:
            raise problem(
                f"batch_size={self.batch_size} is larger than limit={self.limit}: lower batch_size"
                " or raise limit."
            )

    @property
    def effective_strategy(self) -> str:
        """The strategy that `auto` stands for."""
        if self.strategy != "auto":
            return self.strategy
        return "mirrored" if self.replicas > 1 else "default"

    @property
    def per_replica_batch(self) -> int:
        return self.batch_size // self.replicas

    @property
    def micro_batch(self) -> int:
        """Images that one replica passes through the networks at a time."""
        return self.per_replica_batch // self.accumulate


@dataclass(frozen=True)
class Plan:
    """What a configuration amounts to on a data set of known size."""

    examples: int
    steps_per_epoch: int
    total_steps: int
    per_replica_batch: int
    dropped_per_epoch: int


def plan(config: RunConfig, available: int) -> Plan:
    """Steps that `config` takes on a data set of `available` images; the incomplete last batch of
    an epoch is dropped.

    Raises ConfigError when the batch is larger than the data set.
    """
    examples = min(available, config.limit or available)
    steps = examples // config.batch_size
    if not steps:
        raise ConfigError(
            f"batch_size={config.batch_size} is larger than the data set ({examples} images of"
            f" {config.dataset}): use {examples} or less."
        )
    return Plan(
        examples,
        steps,
        steps * config.epochs,
        config.per_replica_batch,
        examples - steps * config.batch_size,
    )


def parse(values: Mapping[str, Any]) -> RunConfig:
    """Validate `values` (strings from a command line are fine); raises ConfigError with one
    sentence for each of the first mistakes."""
    try:
        return RunConfig.model_validate(renamed(values))
    except ValidationError as error:
        said = list(dict.fromkeys(sentence(e) for e in error.errors()))
        more = [f"And {len(said) - MAX_SENTENCES} more."] if len(said) > MAX_SENTENCES else []
        raise ConfigError(" ".join(said[:MAX_SENTENCES] + more)) from None


def renamed(values: Mapping[str, Any]) -> dict[str, Any]:
    """`values` with what FORMER names called as it is now."""

    def present(name: str, value: Any) -> Any:
        if isinstance(value, list | tuple):  # those that a grid varies
            return [present(name, one) for one in value]
        return FORMER.get(name, {}).get(value, value) if isinstance(value, str) else value

    return {name: present(name, value) for name, value in values.items()}


def parse_value(name: str, value: Any) -> Any:
    """The value of one setting with its type, by itself: only `parse` can say whether it suits the
    others. Raises ConfigError."""
    if name not in RunConfig.model_fields:
        parse({name: value})  # refuses it
    values = renamed({name: _unless_none(name, value)})
    try:
        return getattr(_alone(name).model_validate(values), name)
    except ValidationError as error:
        raise ConfigError(sentence(error.errors()[0])) from None


@cache
def _alone(name: str) -> type[BaseModel]:
    field = RunConfig.model_fields[name]
    fields: Any = {name: (field.annotation, field)}
    made: type[BaseModel] = create_model(name, __config__=RunConfig.model_config, **fields)
    return made


def parse_assignments(assignments: list[str]) -> dict[str, Any]:
    """`["batch_size=128", "limit=none"]` as a mapping; raises ConfigError for text that is not
    `key=value`."""
    values: dict[str, Any] = {}
    for text in assignments:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise ConfigError(
                f"{text[:80]!r} is not of the form key=value, such as batch_size=128."
            )
        values[key.strip()] = _unless_none(key.strip(), value.strip())
    return values


def _unless_none(name: str, value: Any) -> Any:
    """None for the words, where a setting may be None."""
    field = RunConfig.model_fields.get(name)
    optional = field is not None and NoneType in get_args(field.annotation)
    return (
        None if optional and isinstance(value, str) and value.lower() in ("none", "all") else value
    )


def invalid_reason(stored: Mapping[str, Any]) -> str | None:
    """Why nothing can be shown of a stored configuration, in a sentence; None where each setting
    has its type and none of REQUIRED is missing.

    Names that this version does not know are no reason, nor are rules between settings, which may
    be newer than the run.
    """
    try:
        RunConfig.model_validate(
            {name: value for name, value in stored.items() if name in RunConfig.model_fields},
            strict=True,
        )
    except ValidationError as error:
        if wrong := next((one for one in error.errors() if one["type"] != "ganboard"), None):
            return sentence(wrong)
    missing = next((name for name in REQUIRED if name not in stored), None)
    return missing and f"{missing} is missing."


def diff(a: Mapping[str, Any], b: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Settings in which two stored configurations differ, as name -> (a, b)."""
    return {key: (a.get(key), b.get(key)) for key in {**a, **b} if a.get(key) != b.get(key)}
