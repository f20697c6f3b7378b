"""Names of runs: which ones are valid, and what a run is called that nobody named."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any

from ganboard.db.text_validation import invisible
from ganboard.gan import presets
from ganboard.gan.config import RunConfig, diff, parse
from ganboard.gan.settings import registry
from ganboard.gan.settings.metadata import about, has_effect
from ganboard.worker.errors import BadName
from ganboard.worker.formatting import clean

NAME_LENGTH = 80


def check_name(text: str) -> str:
    """The name in Unicode NFC without surrounding blanks. Raises BadName."""
    name = unicodedata.normalize("NFC", text).strip()
    if not name:
        raise BadName("The name is empty. Enter a name, or omit it for a generated one.")
    if len(name) > NAME_LENGTH:
        raise BadName(f"The name has {len(name)} characters; the limit is {NAME_LENGTH}.")
    if bad := invisible(name):
        raise BadName(f"The name contains the invisible or control character {bad}. Remove it.")
    return name


def default_name(config: RunConfig, preset: str) -> str:
    """What is trained, and the settings that differ from its usual ones; not those that change only
    what is recorded."""
    kept = _trains(preset, config.model)
    usual = presets.load(preset) if kept else parse({"model": config.model})
    values = config.model_dump()
    special = {
        name: values[name]
        for name in diff(values, usual.model_dump())
        if about(name).affects != "records" and has_effect(name, values)
    }
    if not kept:
        special.pop("dataset", None)  # `trained` names it
    return name_of(trained(preset, config.model, config.dataset), special)


def trained(preset: str, model: str, dataset: str) -> str:
    """What a run trains, in a word or two: the preset that it comes from; where that is of an older
    version or another model is chosen now, the data set and a model that is not the usual one."""
    if _trains(preset, model):
        return preset
    return dataset if model == registry.usual() else f"{model}, {dataset}"


def name_of(title: str, changes: Mapping[str, Any]) -> str:
    """The name of a run that these settings set apart, within the limit of names."""
    words = [title, *(word(name, value) for name, value in changes.items())]
    name = clean(", ".join(words))  # a path or an option may hold any character
    return name if len(name) <= NAME_LENGTH else name[: NAME_LENGTH - 1].rstrip(", ") + "…"


def word(name: str, value: Any) -> str:
    """A setting and its value in a name; self-explanatory text stands alone."""
    short = about(name).short or name.replace("_", " ")
    if isinstance(value, bool):
        return short if value else f"no {short}"
    if about(name).self_explanatory and isinstance(value, str):
        return value
    return f"{short} {value_text(value)}"


def value_text(value: Any) -> str:
    """A value as a person would type it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "all" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _trains(preset: str, model: str) -> bool:
    return preset in presets.NAMES and presets.load(preset).model == model
