"""What the table of settings says, for those who need to know: forms, comparisons, checkpoints,
estimates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic.fields import FieldInfo

from ganboard.gan.settings.declarations import Affects, Setting, declared
from ganboard.gan.settings.models import ignored
from ganboard.gan.settings.table import Settings

GROUPS = tuple(dict.fromkeys(declared(field).group for field in Settings.model_fields.values()))


def about(name: str) -> Setting:
    """What is declared about a setting beside its type, default, limits and description; next to
    nothing for one of another version."""
    field = Settings.model_fields.get(name)
    return declared(field) if field else Setting("Unknown")


def fields_by_group() -> dict[str, dict[str, FieldInfo]]:
    """The fields of RunConfig by group, in the order of the table."""
    grouped: dict[str, dict[str, FieldInfo]] = {group: {} for group in GROUPS}
    for name, field in Settings.model_fields.items():
        grouped[about(name).group][name] = field
    return grouped


def label(name: str) -> str:
    """What a setting is called on the screen."""
    return about(name).label or name.replace("_", " ").capitalize()


def has_effect(name: str, values: Mapping[str, Any]) -> bool:
    """Whether a setting changes anything beside these values of all settings."""
    return name not in ignored(values["model"]) and about(name).has_effect(values)


def affecting(*what: Affects) -> set[str]:
    """The settings that affect these."""
    return {name for name in Settings.model_fields if about(name).affects in what}


def speed_settings() -> dict[str, Any]:
    """The settings on which the seconds per image depend beside batch, strategy and replicas, each
    with its default, with which older runs have trained."""
    return {
        name: field.default for name, field in Settings.model_fields.items() if about(name).speed
    }
