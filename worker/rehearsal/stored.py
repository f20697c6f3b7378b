"""The rehearsals of a stored run's settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Engine

from ganboard.db import rehearsals
from ganboard.gan.config import ConfigError, parse
from ganboard.gan.rehearsal import report as reports


def of_config(engine: Engine, config: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The reports of a configuration, by target; none where its settings are of another version."""
    try:
        return rehearsals.of(engine, reports.key(parse(config)))
    except ConfigError:
        return []
