"""What a worker's machine has, and how fast its processor multiplies in either precision: `python
-m ganboard.gan.devices.probe` prints it as one JSON line."""

from __future__ import annotations

import json
from typing import Any

from ganboard.gan.devices import hardware, peak_flops


def describe() -> dict[str, Any]:
    """`gan.devices.hardware.describe`, and of a machine without accelerators `cpu_rates`: GFLOP for
    each second of CPU time, by precision."""
    found = hardware.describe()
    if found["gpus"] or found["tpus"]:
        return found
    rates = {name: peak_flops.per_cpu_second(name) for name in ("float32", "mixed_bfloat16")}
    return {**found, "cpu_rates": rates}


if __name__ == "__main__":
    print(json.dumps(describe()))  # noqa: T201
