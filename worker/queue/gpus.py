"""Which GPUs a worker sees."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ganboard.db.settings import Settings, SettingsError

VISIBLE = "CUDA_VISIBLE_DEVICES"
DRIVER = Path("/proc/driver/nvidia/gpus")  # one folder for each


def visible(
    settings: Settings, slot: int, environment: Mapping[str, str], driver: Path = DRIVER
) -> str | None:
    """What CUDA_VISIBLE_DEVICES must be for the worker of this slot (from 1), so that it has one
    GPU of its machine, or of those that its owner has chosen; None where all are its own.

    Workers share GPUs once there are more of them. Raises SettingsError.
    """
    if settings.gpus not in ("all", "one"):
        raise SettingsError(
            f"GANBOARD_GPUS={settings.gpus[:40]} is neither all nor one. Unset it for all."
        )
    if settings.gpus == "all":
        return None
    chosen = [one for one in environment.get(VISIBLE, "").split(",") if one.strip()]
    if VISIBLE not in environment:
        chosen = [str(number) for number, _ in enumerate(driver.glob("*"))]
    return chosen[(slot - 1) % len(chosen)] if chosen else None


def restrict(settings: Settings, worker: str) -> None:
    """Let this process and its trainers see the GPUs of the worker of this name. Raises
    SettingsError."""
    if (one := visible(settings, int(worker.rpartition(":")[2]), os.environ)) is not None:
        os.environ[VISIBLE] = one
