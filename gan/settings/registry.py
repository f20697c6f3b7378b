"""The models that there are, by name. Free of TensorFlow."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic.fields import FieldInfo

from ganboard.gan.settings import discovery
from ganboard.gan.settings.declarations import same
from ganboard.gan.settings.model import Model
from ganboard.gan.settings.problems import ConfigError
from ganboard.gan.settings.run_config import RunConfig

__all__ = ["Model", "same"]

SOURCE = "model_source"  # a fact of runs of models that do not come with ganboard


def models() -> Mapping[str, Model]:
    """All models by name, the usual one first."""
    return _found()[0]


def refused() -> Mapping[str, str]:
    """Why files that were named as models are none, by the model's name or the file's path."""
    return _found()[1]


@cache
def _found() -> tuple[dict[str, Model], dict[str, str]]:
    return discovery.find()


def usual() -> str:
    """The model of configurations that name none, as the first ones did."""
    return next(iter(models()))


def get(name: str) -> Model:
    """The model of this name. Raises ConfigError."""
    if found := models().get(name):
        return found
    if problem := refused().get(name):
        raise ConfigError(f"model={name} cannot be used. {problem}")
    options = ", ".join(repr(known) for known in models())
    raise ConfigError(
        f"model={name[:60]} is not allowed: it must be one of {options} (default {usual()}), or a"
        f" file that {discovery.VARIABLE} names."
    )


def known(config: Mapping[str, Any]) -> Model:
    """The model of a run's stored settings; the usual one where they name none that is known."""
    return models().get(str(config.get("model")), models()[usual()])


def missing(config: Mapping[str, Any]) -> str | None:
    """Why nothing can be computed for a stored run, in a sentence; None where its model is here."""
    name = str(config.get("model", usual()))
    if name in models():
        return None
    if problem := refused().get(name):
        return f"model={name} of this run cannot be used. {problem}"
    return (
        f"model={name[:60]} of this run is not here: install its package, or name its file in"
        f" {discovery.VARIABLE} before the dashboard and its workers start."
    )


def of(config: RunConfig) -> Model:
    """The model of a configuration."""
    return models()[config.model]


def check_source(config: RunConfig, facts: Mapping[str, Any], run_id: str) -> None:
    """Raises ConfigError where the model's code is another than that which a run, with these facts,
    began with: its weights and losses would not be those of either."""
    before, now = facts.get(SOURCE), of(config).source
    if before is not None and before != now:
        raise ConfigError(
            f"The source of model={config.model} has changed since run {run_id} began"
            f" ({str(before)[:8]}, now {now[:8] or 'built-in'}): restore it to resume, or start a"
            f" new run with `ganboard resume {run_id} --with-new-code`."
        )


@cache
def declared(name: str) -> tuple[FieldInfo, ...]:
    """The declarations of a setting by the models that have it, each once; the usual model's is
    first."""
    found: list[FieldInfo] = []
    for model in models().values():
        field = model.config.model_fields.get(name)
        if field and not any(same(field, other) for other in found):
            found.append(field)
    return tuple(found)


@cache
def datasets() -> tuple[str, ...]:
    """The data sets of all models."""
    every = (name for model in models().values() for name in model.config.datasets)
    return tuple(dict.fromkeys(every))
