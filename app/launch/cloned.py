"""The settings that the form takes from a stored run."""

from __future__ import annotations

from typing import Any

from ganboard.app import errors
from ganboard.db.models import Run
from ganboard.gan.config import ConfigError, config_class, parse_assignments, parse_value


def changed(assignments: list[str]) -> dict[str, Any]:
    """The settings that the address changes; none of them where one cannot be used, which is
    said."""
    try:
        asked = parse_assignments(assignments)
        return {name: parse_value(name, value) for name, value in asked.items()}
    except ConfigError as error:
        errors.report(f"{error} The form has the settings of the run.", "warning")
        return {}


def known(config: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The settings of a stored run that this version has, and the names and values of those that it
    has not."""
    found, unknown = {}, []
    for name, value in config.items():
        try:
            found[name] = parse_value(name, value)
        except ConfigError:
            unknown.append(f"{name[:40]}={str(value)[:40]}")
    own = config_class(found).model_fields
    return {name: value for name, value in found.items() if name in own}, unknown


def longer(run: Run, settings: dict[str, Any], forks: bool) -> dict[str, Any]:
    """The same settings; for a fork of a run that has done all its epochs with twice as many, since
    there must be something left to train."""
    if forks and run.epoch >= settings["epochs"]:
        return {**settings, "epochs": 2 * run.epoch}
    return settings
