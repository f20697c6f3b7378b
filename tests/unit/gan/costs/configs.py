"""The configurations of which costs are estimated."""

from __future__ import annotations

from typing import Any

from ganboard.gan.config import RunConfig, parse


def config(**changes: Any) -> RunConfig:
    return parse({"batch_size": 64, **changes})
