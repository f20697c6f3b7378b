"""The command that trains a run again."""

from __future__ import annotations

import shlex
from typing import Any

from ganboard.db.models import Run
from ganboard.gan import presets
from ganboard.gan.config import ConfigError, parse


def repeat(run: Run) -> tuple[str, str]:
    """`ganboard run` with the preset and the settings that differ from it, and a sentence on what
    that gives; an empty command, and the reason, where there is none."""
    if run.external:
        return "", "A script trained this run. Run the script again to repeat it."
    preset, base = _base(run)
    parts = ["ganboard", "run", *(["--preset", preset] if preset else [])]
    for name, value in run.config.items():
        if name not in base or base[name] != value:
            parts += ["--set", f"{name}={_text(value)}"]
    note = "With equal data, versions and machine the losses are the same; on a CPU to the bit."
    if not preset:
        note = f"All settings that differ from their defaults. {note}"
    if run.config.get("start_from"):
        note += " It starts from the weights of the run that start_from names."
    return " ".join(map(shlex.quote, parts)), note


def _base(run: Run) -> tuple[str, dict[str, Any]]:
    """The preset that is known here, if any, and what its settings are."""
    own = {"model": run.config["model"]} if "model" in run.config else {}
    name = presets.current(run.preset) if run.preset else ""
    try:
        if name in presets.NAMES and presets.values(name).get("model", own.get("model")) == own.get(
            "model"
        ):
            return name, presets.load(name).model_dump(mode="json")
        named = {"dataset": run.config["dataset"]} if "dataset" in run.config else {}
        found = parse({**own, **named}).model_dump(mode="json")
    except ConfigError:  # a model that is not here: all settings are named
        return "", {}
    # what decides the other defaults is always named
    return "", {key: value for key, value in found.items() if key not in (*own, *named)}


def _text(value: Any) -> str:
    if value is None:
        return "none"
    return str(value).lower() if isinstance(value, bool) else str(value)
