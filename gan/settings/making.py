"""A model made of its file or folder: the code's declarations, checked and completed. Free of
TensorFlow."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Any

from pydantic import ValidationError, create_model

from ganboard.gan.settings import declaring
from ganboard.gan.settings.declarations import inherited, same
from ganboard.gan.settings.model import LOADED, SHARED, Model
from ganboard.gan.settings.picture_spec import picture_spec
from ganboard.gan.settings.pictures import PictureConfig
from ganboard.gan.settings.problems import sentence
from ganboard.gan.settings.run_config import RunConfig
from ganboard.gan.settings.specification import ModelSpec

DECLARES = "model.py"  # of a folder that is a model
OWN_LOSSES = "Losses as the model's own file defines them, as means over the batch."
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_DECLARED = f"{LOADED}_declared"  # of files as read with stand-ins
# settings of every model that each declares in its own way
_OVERRIDDEN = ("dataset", "images_path", "model")


@dataclass(frozen=True)
class Candidate:
    """What may be a model: a file, or a folder with `model.py`."""

    name: str
    path: Path
    built_in: bool = False


def valid_name(name: str) -> bool:
    """Whether a model can have this name."""
    return _NAME.fullmatch(name) is not None


class Refused(ValueError):
    """A file that is no model, in a sentence."""


def model(candidate: Candidate) -> Model:
    """Raises Refused."""
    name, path = candidate.name, candidate.path
    if not valid_name(name):
        raise Refused(
            f"{name[:60]!r} cannot be a model's name. Use up to 40 small letters, digits and"
            " underscores."
        )
    digest = "" if candidate.built_in else _digest(path)
    if path.is_dir():
        package = _package(candidate)
        module = _declared(lambda: import_module(f"{package}.model"), path)
        spec = getattr(module, "MODEL", None)
        if not isinstance(spec, ModelSpec):
            raise Refused("model.py must set MODEL = ModelSpec(...).")
        return Model(
            name, replace(spec, config=_finished(spec.config, name)), package, None, digest
        )
    module = _declared(lambda: declaring.declarations(path, f"{_DECLARED}.{name}"), path)
    for function in ("generator", "discriminator"):
        if not callable(getattr(module, function, None)):
            raise Refused(f"it has no function {function}(config). Add one.")
    spec = getattr(module, "MODEL", None) or _derived(module, name)
    if not isinstance(spec, ModelSpec):
        raise Refused("MODEL must be a ModelSpec.")
    if not issubclass(spec.config, PictureConfig):
        raise Refused("its Config must be a class derived from ganboard.PictureConfig.")
    if hasattr(module, "discriminator_loss"):  # which needs generator_loss beside it
        spec = replace(spec, losses=spec.losses or OWN_LOSSES)
    return Model(name, replace(spec, config=_finished(spec.config, name)), SHARED, path, digest)


def _package(candidate: Candidate) -> str:
    """The folder of a model as an importable package."""
    if candidate.built_in:
        return f"ganboard.gan.models.{candidate.name}"
    name = f"{_DECLARED}.{candidate.name}"
    initial = candidate.path / "__init__.py"
    if initial.exists():
        _declared(lambda: declaring.declarations(initial, name, [str(candidate.path)]), initial)
    else:
        package = ModuleType(name)
        package.__path__ = [str(candidate.path)]
        sys.modules[name] = package
    return name


def _declared(load: Callable[[], ModuleType], path: Path) -> ModuleType:
    """Raises Refused for whatever the code raises."""
    try:
        return load()
    except SyntaxError as error:
        raise Refused(f"line {error.lineno} is not valid Python ({error.msg}).") from None
    except Exception as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        frames = [frame for frame in extract_tb(error.__traceback__) if frame.filename == str(path)]
        place = f" in line {frames[-1].lineno}" if frames else ""
        raise Refused(f"it cannot be imported{place} ({type(error).__name__}: {reason}).") from None


def _derived(module: ModuleType, name: str) -> ModelSpec:
    """The specification of a file that has none: its docstring says what it is."""
    title = (module.__doc__ or name).strip().splitlines()[0].rstrip(".")
    return picture_spec(title[:80], getattr(module, "Config", PictureConfig))


def _finished(config: type[RunConfig], name: str) -> type[RunConfig]:
    """The class with the model's name as the default of `model`, and with the defaults that it
    states for settings of all models. Raises Refused."""
    shared = RunConfig.model_fields
    for field in config.model_fields:
        free = field in _OVERRIDDEN or same(config.model_fields[field], shared.get(field))
        if field in shared and not free:
            raise Refused(
                f"{field} is a setting of every model. Give yours another name, or state another"
                " default in `defaults`."
            )
    usual = {**config.defaults, "model": name}
    if unknown := usual.keys() - config.model_fields.keys():
        raise Refused(f"`defaults` names {min(unknown)}, which is no setting.")
    changed: dict[str, Any] = {}
    for field, value in usual.items():
        if config.model_fields[field].default != value:
            info = config.model_fields[field]
            changed[field] = (info.annotation, inherited(info, value))
    if not changed:
        return config
    made: type[RunConfig] = create_model(config.__name__, __base__=config, **changed)
    try:
        made.model_validate(usual)
    except ValidationError as error:
        raise Refused(sentence(error.errors()[0], made.model_fields)) from None
    return made


def _digest(path: Path) -> str:
    """SHA-256 over the names and contents of a model's Python files."""
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
    whole = hashlib.sha256()
    for file in files:
        name = file.relative_to(path.parent).as_posix()
        whole.update(name.encode() + b"\0" + file.read_bytes() + b"\0")
    return whole.hexdigest()
