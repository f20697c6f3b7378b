"""Configurations of runs: read, checked, compared. Each model has a class of its own, which `parse`
picks. Free of TensorFlow."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import NoneType
from typing import Any, get_args

from pydantic import BaseModel, ValidationError, create_model
from pydantic.fields import FieldInfo

from ganboard.gan import profiling
from ganboard.gan.settings import metadata, registry
from ganboard.gan.settings.metadata import all_settings
from ganboard.gan.settings.problems import ConfigError, legible, sentence
from ganboard.gan.settings.run_config import RunConfig

__all__ = ["ConfigError", "RunConfig", "parse", "plan"]

# in the configuration of every run, however old
REQUIRED = ("dataset", "batch_size", "epochs", "seed", "precision", "xla")
MAX_SENTENCES = 4  # of one ConfigError
# values of settings by the names that exports, packages, study files and scripts may still have
FORMER = {"dataset": {"street": "vortex_street"}}


def model_of(config: Mapping[str, Any]) -> str:
    """The model of a run's stored settings; DCGAN where they name none that is known."""
    return registry.known(config).name


def config_class(config: Mapping[str, Any]) -> type[RunConfig]:
    """The class of a run's stored settings."""
    return registry.known(config).config


def has_latent_space(config: Mapping[str, Any]) -> bool:
    """Whether the generator of a stored run has noise to explore."""
    return registry.known(config).spec.has_latent_space


def fixed_inputs(config: Mapping[str, Any]) -> dict[str, Any]:
    """What decides what a stored run's grids are made from, setting by setting: runs with equal
    ones have the same latents at the same places. Raises ConfigError."""
    own = parse(config)
    names = registry.of(own).spec.fixed_inputs
    if getattr(own, "label_count", 0):
        # the class of an image follows from its column
        names = (*names, "dataset", "images_path", "grid_size")
    return {name: getattr(own, name, None) for name in names}


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

    Raises ConfigError when the batch is larger than the data set, or when steps are to be profiled
    that there are not.
    """
    examples = min(available, config.limit or available)
    steps = examples // config.batch_size
    if not steps:
        raise ConfigError(
            f"batch_size={config.batch_size} is larger than the data set ({examples} images of"
            f" {config.dataset}): use {examples} or less."
        )
    if sentence := profiling.beyond(config.profile_steps, steps * config.epochs):
        raise ConfigError(sentence)
    return Plan(
        examples,
        steps,
        steps * config.epochs,
        config.per_replica_batch,
        examples - steps * config.batch_size,
    )


def parse(values: Mapping[str, Any]) -> RunConfig:
    """Validate `values` (strings from a command line are fine) as the settings of the model that
    they name, DCGAN's without one.

    Raises ConfigError with one sentence for each of the first mistakes.
    """
    given = current(values)
    model = registry.get(str(given.get("model", registry.usual())))
    given, foreign = _own(given, model.config)
    if foreign:
        raise ConfigError(" ".join(foreign[:MAX_SENTENCES]))
    try:
        return model.config.model_validate(given)
    except ValidationError as error:
        said = list(dict.fromkeys(sentence(e, model.config.model_fields) for e in error.errors()))
        more = [f"And {len(said) - MAX_SENTENCES} more."] if len(said) > MAX_SENTENCES else []
        raise ConfigError(" ".join(said[:MAX_SENTENCES] + more)) from None


def _own(values: dict[str, Any], config: type[RunConfig]) -> tuple[dict[str, Any], list[str]]:
    """`values` without settings of other models that are at their defaults, as runs once stored
    them; and a sentence for each that is not."""
    own, foreign = {}, []
    for name, value in values.items():
        others = registry.declared(name)
        if name in config.model_fields or not others:
            own[name] = value
        elif not any(_is_default(field, value) for field in others):
            foreign.append(
                f"{name}={legible(value)} has no meaning for"
                f" model={config.model_fields['model'].default}: leave it out."
            )
    return own, foreign


def _is_default(field: FieldInfo, value: Any) -> bool:
    if isinstance(value, str):
        return value.lower() == str(field.default).lower()
    try:
        return bool(value == field.default)
    except ArithmeticError:  # a signalling NaN of Decimal compares with nothing
        return False


def current(values: Mapping[str, Any]) -> dict[str, Any]:
    """`values` with what FORMER names called as it is now."""

    def present(name: str, value: Any) -> Any:
        if isinstance(value, list | tuple):  # those that a grid varies
            return [present(name, one) for one in value]
        return FORMER.get(name, {}).get(value, value) if isinstance(value, str) else value

    return {name: present(name, value) for name, value in values.items()}


def parse_value(name: str, value: Any) -> Any:
    """The value of one setting with its type, by itself, for any model that has it: only `parse`
    can say whether it suits the others. Raises ConfigError."""
    fields = registry.declared(name)
    if not fields:
        raise ConfigError(
            f"{name[:80]!r} is not a setting; the settings are {', '.join(all_settings())}."
        )
    given = current({name: _unless_none(name, value)})
    problems = []
    for field in fields:
        try:
            found = getattr(_alone(name, field).model_validate(given), name)
            _check_choice(name, found)
            return found
        except ValidationError as error:
            problems.append(sentence(error.errors()[0], {name: field}))
    raise ConfigError(problems[0])


def _check_choice(name: str, value: Any) -> None:
    if name == "model":
        registry.get(value)
    elif name == "dataset" and value not in (options := registry.datasets()):
        raise ConfigError(
            f"dataset={value[:60]} is not allowed: it must be one of {', '.join(options)} (default"
            f" {RunConfig.model_fields['dataset'].default})."
        )


def _alone(name: str, field: FieldInfo) -> type[BaseModel]:
    """A model of one field, made once."""
    if (made := _ALONE.get(id(field))) is None:
        fields: Any = {name: (field.annotation, field)}
        made = create_model(name, __config__=RunConfig.model_config, **fields)
        _ALONE[id(field)] = made
    return made


_ALONE: dict[int, type[BaseModel]] = {}


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
    optional = any(NoneType in get_args(field.annotation) for field in registry.declared(name))
    return (
        None if optional and isinstance(value, str) and value.lower() in ("none", "all") else value
    )


def invalid_reason(stored: Mapping[str, Any]) -> str | None:
    """Why nothing can be shown of a stored configuration, in a sentence; None where each setting
    has its type and none of REQUIRED is missing.

    Names that this version does not know are no reason, nor are rules between settings, which may
    be newer than the run.
    """
    # of a model that is not here, only the settings of all models can be checked
    config = RunConfig if registry.missing(stored) else config_class(stored)
    fields = config.model_fields  # pydantic finds them anew each time
    try:
        known = {name: value for name, value in stored.items() if name in fields}
        config.model_validate(known, strict=True)
    except ValidationError as error:
        if wrong := next((one for one in error.errors() if one["type"] != "ganboard"), None):
            return sentence(wrong, fields)
    missing = next((name for name in REQUIRED if name not in stored), None)
    return missing and f"{missing} is missing."


def diff(a: Mapping[str, Any], b: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Settings in which two stored configurations differ, as name -> (a, b)."""
    return {key: (a.get(key), b.get(key)) for key in {**a, **b} if a.get(key) != b.get(key)}


def identity(config: RunConfig, names: Collection[str]) -> dict[str, Any]:
    """Those of the settings `names` that differ from their defaults, JSON-ready: what digests rest
    on, so that a new setting leaves stored ones as they are.

    The usual model is what counts as the default of `model`; the data set counts against the
    default of `RunConfig`, whatever a model's own is.
    """
    values = config.model_dump(mode="json", include=set(names))
    shared = {name: field.default for name, field in RunConfig.model_fields.items()}
    usual = {**metadata.defaults(vars(config)), **shared, "model": registry.usual()}
    return {
        name: value
        for name, value in values.items()
        if config.about(name).identifies or value != usual[name]
    }
