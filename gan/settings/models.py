"""The models, found by their folders, and what they declare together."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from ganboard.gan.settings.declarations import ModelSettings


def modules(name: str) -> dict[str, ModuleType]:
    """The module of this name in the folder of each model, by model in alphabetical order."""
    package = import_module("ganboard.gan.models")
    models = sorted(found.name for found in iter_modules(package.__path__) if found.ispkg)
    return {model: import_module(f"{package.__name__}.{model}.{name}") for model in models}


MODELS: dict[str, ModelSettings] = {
    name: module.SETTINGS for name, module in modules("settings").items()
}
DATASETS = tuple(dict.fromkeys(name for model in MODELS.values() for name in model.datasets))
GEOMETRIES = tuple(dict.fromkeys(name for model in MODELS.values() for name in model.geometries))
PATHS = {name: what for model in MODELS.values() for name, what in model.paths.items()}
_READ_BY_SOME = tuple(dict.fromkeys(name for model in MODELS.values() for name in model.reads))


def ignored(model: str) -> list[str]:
    """The settings without an effect on the training of `model`: those that only others read."""
    return [name for name in _READ_BY_SOME if name not in MODELS[model].reads]
