"""Presets: small Python files that open with the exact command, the expected minutes and the
expected result."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ganboard.gan.config import ConfigError, RunConfig, parse

NAMES = (
    "starter",
    "mnist",
    "paper",
    "digits",
    "pictures",
    "pictures_gpu",
    "tiny",
    "showers",
    "showers_tiny",
    "vortex_street",
    "vortex_street_256",
    "vortex_street_tiny",
)
FORMER = {"conditional": "starter", "street": "vortex_street", "street_tiny": "vortex_street_tiny"}


def current(name: str) -> str:
    """What the preset of this name is called now."""
    return FORMER.get(name, name)


def values(name: str) -> dict[str, Any]:
    """The settings of a preset; raises ConfigError for an unknown name."""
    name = current(name)
    if name not in NAMES:
        raise ConfigError(f"preset {name[:80]!r} does not exist: choose one of {', '.join(NAMES)}.")
    return dict(import_module(f"ganboard.gan.presets.{name}").VALUES)


def load(name: str, changes: dict[str, Any] | None = None) -> RunConfig:
    """A preset with some settings changed; raises ConfigError."""
    return parse({**values(name), **(changes or {})})


def about(name: str) -> str:
    """What a preset says of itself: command, expected time, expected result."""
    return (import_module(f"ganboard.gan.presets.{name}").__doc__ or "").strip()


def description(name: str) -> tuple[str, str, str]:
    """The three paragraphs of `about`, each on one line: what a preset is for, its command, what to
    expect of it."""
    purpose, command, expected = (
        " ".join(paragraph.split()) for paragraph in about(name).split("\n\n")
    )
    return purpose, command, expected
