"""Objects that a specification names as "package.module:object", so that reading it imports none of
them. Free of TensorFlow."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Any

from ganboard.gan.settings.problems import ConfigError


def resolve(reference: str) -> Any:
    """The object of a reference. Raises ConfigError."""
    try:
        return resolve_name(reference)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(
            f"{reference!r} of a model's specification cannot be loaded ({error}). Correct it, or"
            " install its package."
        ) from None
