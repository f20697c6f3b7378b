"""Which target of rehearsals a machine is, by what it says of its hardware. Free of
TensorFlow."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ganboard.gan.rehearsal.targets import FAMILIES, Target

CPU = "cpu"  # of what was measured without an accelerator; no rehearsal has it
_GPUS = {"h100": r"\bH100\b.*\b(80GB|HBM3)\b", "a100": r"\bA100\b.*\b80GB\b", "t4": r"\bT4\b"}


def target(hardware: Mapping[str, Any], devices: int = 1) -> Target | None:
    """The target of a machine that `gan.devices.hardware.describe` has described: its TPU, or
    `devices` of its GPUs; None for an unknown one."""
    if tpus := hardware.get("tpus"):
        family = str((hardware.get("tpu_chips") or {}).get("kind", ""))
        count = len(tpus)
        if family in FAMILIES and count in FAMILIES[family].slices:
            return Target(f"{family}-{count}", family, count)
        return None
    for gpu in (hardware.get("gpus") or [])[:1]:
        for family, pattern in _GPUS.items():
            if re.search(pattern, str(gpu.get("name", ""))):
                name = family if devices == 1 else f"{devices}x{family}"
                return Target(name, family, devices)
    return None
