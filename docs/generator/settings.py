"""The reference of settings and presets, from what `ganboard run --settings --json` prints."""

from __future__ import annotations

import json
from typing import Any

from docs.generator.markdown import code, table, text
from ganboard.gan.settings import registry
from ganboard.gan.settings.declarations import declared
from ganboard.gan.settings.model import Model
from ganboard.worker.terminal.settings import settings_document

HEAD = """# Settings

Every setting of a run, by group. Set them on the page Launch, with `--set NAME=VALUE`, or in a
preset. What is not set has its default. `ganboard run --settings` prints this list, with `--json`
as JSON. A value that is not allowed is refused before anything starts.

"""
PRESETS = """## Presets

A preset is a set of values. `ganboard run --preset NAME` starts from it, and `--set` changes single
values.

"""
MODELS = """## Models

What a model has that not every model has, and its defaults where they are not those above.
[models.md](../models.md) describes them.

"""


def page() -> str:
    document = settings_document()
    every = len(registry.models())
    groups = dict.fromkeys(setting["group"] for setting in document["settings"])
    parts = [HEAD]
    for group in groups:
        rows = [_row(one, every) for one in document["settings"] if one["group"] == group]
        parts.append(f"## {group}\n\n" + table(("setting", "default", "allowed", "purpose"), rows))
    parts.append(MODELS)
    parts += map(_model, registry.models().values())
    parts.append(PRESETS)
    parts += map(_preset, document["presets"])
    return "".join(parts)


def _preset(preset: dict[str, Any]) -> str:
    about = preset["about"].split("\n\n")[0]
    values = [f"{name} = {json.dumps(value)}" for name, value in preset["values"].items()]
    return f"### {preset['name']}\n\n{text(about)}\n\n```text\n{chr(10).join(values)}\n```\n\n"


def _row(setting: dict[str, Any], every: int) -> tuple[str, ...]:
    limits = f"{setting['allowed']} {setting['unit']}".strip()
    purpose = text(setting["why"]) + "." + _conditions(setting)
    if len(setting["models"]) < every:
        purpose += f" *Only {', '.join(map(code, setting['models']))}.*"
    return code(setting["name"]), code(json.dumps(setting["default"])), text(limits), purpose


def _conditions(setting: dict[str, Any]) -> str:
    """With which values of another setting it has an effect, as a sentence."""
    for field in registry.declared(setting["name"]):
        if field.description == setting["why"]:
            about = declared(field)
            break
    else:
        return ""
    found = ""
    for words, values in (("Only with", about.when), ("Not with", about.unless)):
        if values:
            shown = " or ".join(code(json.dumps(value)) for value in values[1:])
            found += f" {words} `{values[0]}` = {shown}."
    return found


def _model(model: Model) -> str:
    """The settings of a model that not every model has, and its defaults that are not those
    above."""
    every = [one.config.model_fields for one in registry.models().values()]
    fields = model.config.model_fields
    own = [code(name) for name in fields if not all(name in others for others in every)]
    defaults = [
        (code(name), code(json.dumps(field.default)))
        for name, field in fields.items()
        if name != "model" and field.default != registry.declared(name)[0].default
    ]
    about = (
        f"### {model.name}\n\n{text(model.spec.title)}.\n\n"
        f"Data sets: {', '.join(map(code, model.config.datasets))}.\n\n"
        f"Settings that not every model has: {', '.join(own)}.\n\n"
    )
    return about + (table(("setting", "default of this model"), defaults) if defaults else "")
