"""The configurations of which costs are estimated."""

from __future__ import annotations

from typing import Any

from ganboard.gan.config import RunConfig
from ganboard.gan.models.dcgan.config import Config


def config(**changes: Any) -> RunConfig:
    return Config(**{"batch_size": 64, **changes})
