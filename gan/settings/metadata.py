"""What the settings say of themselves, for those who need to know: forms, comparisons, checkpoints,
estimates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from ganboard.gan.settings import registry
from ganboard.gan.settings.declarations import Affects, Setting, declared
from ganboard.gan.settings.run_config import RunConfig

GROUPS = tuple(dict.fromkeys(declared(field).group for field in RunConfig.model_fields.values()))


def all_settings() -> dict[str, FieldInfo]:
    """The settings of all models; of several declarations of one name the first."""
    found: dict[str, FieldInfo] = {}
    for model in registry.models().values():
        for name, field in model.config.model_fields.items():
            found.setdefault(name, field)
    return found


def all_defaults() -> dict[str, Any]:
    """The default of each of `all_settings`, JSON-ready."""
    return {name: field.default for name, field in all_settings().items()}


def defaults(config: Mapping[str, Any]) -> dict[str, Any]:
    """The defaults of the model of a run's stored settings, JSON-ready."""
    fields = registry.known(config).config.model_fields
    return {name: field.default for name, field in fields.items()}


def about(name: str) -> Setting:
    """What is declared about a setting beside its type, default, limits and description; next to
    nothing for one that no model here has."""
    field = all_settings().get(name)
    return declared(field) if field else Setting("Unknown")


def fields_by_group(config: Mapping[str, Any] | None = None) -> dict[str, dict[str, FieldInfo]]:
    """The settings of a configuration's model by group, or those of all models, as declared."""
    fields = all_settings() if config is None else registry.known(config).config.model_fields
    grouped: dict[str, dict[str, FieldInfo]] = {group: {} for group in GROUPS}
    for name, field in fields.items():
        grouped.setdefault(declared(field).group, {})[name] = field
    return grouped


def label(name: str) -> str:
    """What a setting is called on the screen."""
    return about(name).label or name.replace("_", " ").capitalize()


def has_effect(name: str, values: Mapping[str, Any]) -> bool:
    """Whether a setting changes anything beside these values of all settings."""
    config = registry.known(values).config
    return name in config.model_fields and config.about(name).has_effect(values)


def options(name: str, field: FieldInfo, config: Mapping[str, Any]) -> tuple[Any, ...]:
    """What a setting can be chosen from beside the others in `config`; empty where it is not a
    choice."""
    if name == "model":
        return tuple(registry.models())
    if name == "dataset":
        return tuple(registry.known(config).config.datasets)
    return get_args(field.annotation) if get_origin(field.annotation) is Literal else ()


def affecting(*what: Affects) -> set[str]:
    """The settings that affect these."""
    return {name for name, field in all_settings().items() if declared(field).affects in what}


def speed_settings() -> dict[str, Any]:
    """The settings on which the seconds per image depend beside batch, strategy and replicas, each
    with its default, with which older runs have trained."""
    return {name: field.default for name, field in all_settings().items() if declared(field).speed}
