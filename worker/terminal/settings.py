"""The list of all settings and presets: what `--settings` shows."""

from __future__ import annotations

import json
from typing import Any

from pydantic.fields import FieldInfo
from rich import box
from rich.table import Table
from rich.text import Text

from ganboard.gan.settings import registry
from ganboard.gan.settings.declarations import declared
from ganboard.gan.settings.metadata import fields_by_group, options
from ganboard.gan.settings.registry import Model
from ganboard.worker.terminal.console import make_console


def settings_document() -> dict[str, Any]:
    """All settings and presets, JSON-ready."""
    from ganboard.gan import presets

    schemas = {
        name: model.config.model_json_schema()["properties"]
        for name, model in registry.models().items()
    }
    settings = [
        {
            "name": name,
            "group": group,
            "default": field.default,
            "allowed": _allowed(name, field, models[0].name, schemas[models[0].name]),
            "unit": declared(field).unit,
            "why": field.description,
            "models": [model.name for model in models],
        }
        for group, fields in fields_by_group().items()
        for name in fields
        for field, models in _declarations(name)
    ]
    found = [
        {"name": name, "values": presets.values(name), "about": presets.about(name)}
        for name in presets.NAMES
    ]
    return {"settings": settings, "presets": found}


def print_settings() -> None:
    """A table of all settings by group, then the presets."""
    document, console = settings_document(), make_console()
    table = Table(
        "setting", "default", "allowed", "what it does", box=box.SIMPLE_HEAD, pad_edge=False
    )
    group = ""
    for setting in document["settings"]:
        if setting["group"] != group:
            group = setting["group"]
            table.add_section()
            table.add_row(Text(group, style="bold"))
        allowed = f"{setting['allowed']} {setting['unit']}".strip()
        own = "" if len(setting["models"]) == len(registry.models()) else setting["models"]
        table.add_row(
            Text(f"  {setting['name']}", style="cyan").append(
                f" ({', '.join(own)})" if own else "", style="dim"
            ),
            json.dumps(setting["default"]),
            allowed,
            setting["why"],
        )
    console.print(table)
    for preset in document["presets"]:
        console.print(
            Text(f"preset {preset['name']}: ", style="bold").append(
                preset["about"].splitlines()[0], style="not bold"
            )
        )
    console.print("\nExample: ganboard run --preset starter --set epochs=5 --set xla=true")


def _declarations(name: str) -> list[tuple[FieldInfo, list[Model]]]:
    """The declarations of a setting, each with the models that have it so."""
    found = []
    for field in registry.declared(name):
        every = registry.models().values()
        own = [(one, one.config.model_fields.get(name)) for one in every]
        found.append((field, [one for one, its in own if its and registry.same(its, field)]))
    return found


def _allowed(name: str, field: FieldInfo, model: str, schemas: dict[str, Any]) -> str:
    """The values that a setting of this model may have, in words; the model's settings have these
    JSON schemas."""
    if choices := options(name, field, {"model": model}):
        return " | ".join(map(str, choices))
    return _permitted(schemas[name])


def _permitted(schema: dict[str, Any]) -> str:
    """The values that a field's JSON schema permits, in words."""
    if "anyOf" in schema:
        return " or ".join(_permitted(part) for part in schema["anyOf"])
    if "enum" in schema:
        return " | ".join(schema["enum"])
    if "const" in schema:
        return str(schema["const"])
    if schema["type"] == "boolean":
        return "true | false"
    if schema["type"] == "null":
        return "none"
    if schema["type"] == "string":
        return f"text up to {schema['maxLength']} characters"
    text = {
        "minimum": "from",
        "exclusiveMinimum": "more than",
        "maximum": "to",
        "exclusiveMaximum": "to less than",
    }
    return " ".join(f"{word} {schema[key]:,}" for key, word in text.items() if key in schema)
