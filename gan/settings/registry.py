"""The models that there are: the built-in ones, those of installed packages, and those in files
that GANBOARD_MODELS names. Free of TensorFlow, which the parts of a model import when they are
asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from pydantic.fields import FieldInfo

from ganboard.gan.settings.problems import ConfigError
from ganboard.gan.settings.run_config import RunConfig
from ganboard.gan.settings.specification import ModelSpec

USUAL = "dcgan"  # of configurations that name no model, as the first ones did


@dataclass(frozen=True)
class Model:
    """A model with its name, and where its parts are."""

    name: str
    spec: ModelSpec
    package: str  # the folder, as a module

    @property
    def config(self) -> type[RunConfig]:
        return self.spec.config

    def part(self, name: str) -> Any:
        """A module of the model: `recipe`, `source`, `generation`, `costs`."""
        return import_module(f"{self.package}.{name}")


@cache
def models() -> Mapping[str, Model]:
    """All models by name, the usual one first."""
    package = import_module("ganboard.gan.models")
    names = sorted(found.name for found in iter_modules(package.__path__) if found.ispkg)
    names.sort(key=lambda name: name != USUAL)
    return {name: _built_in(f"{package.__name__}.{name}") for name in names}


def _built_in(package: str) -> Model:
    spec: ModelSpec = import_module(f"{package}.model").MODEL
    return Model(package.rpartition(".")[2], spec, package)


def get(name: str) -> Model:
    """The model of this name. Raises ConfigError."""
    if found := models().get(name):
        return found
    options = ", ".join(repr(known) for known in models())
    raise ConfigError(
        f"model={name[:60]} is not allowed: it must be one of {options} (default {USUAL})."
    )


def known(config: Mapping[str, Any]) -> Model:
    """The model of a run's stored settings; the usual one where they name none that is known."""
    return models().get(str(config.get("model")), models()[USUAL])


def of(config: RunConfig) -> Model:
    """The model of a configuration."""
    return models()[config.model]


@cache
def declared(name: str) -> tuple[FieldInfo, ...]:
    """The declarations of a setting by the models that have it, each once."""
    found = {}
    for model in models().values():
        if field := model.config.model_fields.get(name):
            found[id(field)] = field
    return tuple(found.values())


@cache
def datasets() -> tuple[str, ...]:
    """The data sets of all models."""
    every = (name for model in models().values() for name in model.config.datasets)
    return tuple(dict.fromkeys(every))
