"""Peak memory of each preset beside its estimate before the start:
`python -m tests.scale.memory [PRESET...] [KEY=VALUE...]`.

Each trains one epoch with its evaluation, grids and checkpoint in a process of its own. Data are
looked for in GANBOARD_DATA_DIR, and flows computed into it; `pictures` gets PICTURES files of noise
where `images_path` is not set.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from ganboard.db.settings import Settings
from ganboard.gan import presets

PICTURES = 4000
# whose batch is for a GPU's memory
LEFT_OUT = {"pictures_gpu"}


def measure(settings: dict[str, Any], data: str) -> dict[str, int]:
    """Estimated and measured bytes of a training, in this process alone."""
    from ganboard.gan.config import parse
    from ganboard.gan.costs import estimate, measured
    from ganboard.gan.devices.memory import peak_resident
    from ganboard.gan.events import Event, Started
    from ganboard.gan.training import loop

    config = parse(settings)
    if not estimate.known(config):
        measured.layers(config, wait=True)
    examples: list[int] = []

    def sink(event: Event) -> None:
        if isinstance(event, Started):
            examples.append(event.examples)

    with tempfile.TemporaryDirectory() as folder:
        loop.train(
            config,
            run_dir=Path(folder, "run"),
            data_dir=Path(data),
            attempt=1,
            sink=sink,
            control=lambda: "go",
        )
    return {"estimated": estimate.estimate(config, examples[0]), "measured": peak_resident()}


def _pictures(folder: Path) -> None:
    draw = np.random.default_rng(0)
    folder.mkdir()
    for number in range(PICTURES):
        pixels = draw.integers(0, 256, (64, 64, 3), np.uint8)
        Image.fromarray(pixels).save(folder / f"{number}.png")


def main(arguments: list[str]) -> None:
    changes = dict(each.split("=", 1) for each in arguments if "=" in each)
    named = [each for each in arguments if "=" not in each]
    print("| preset | estimated, MB | measured, MB | estimate / measured |\n|---|---|---|---|")
    for name in named or [each for each in presets.NAMES if each not in LEFT_OUT]:
        values = presets.values(name)
        # one epoch, with all that ends one
        once = [each for each in ("epochs", "schedule_period", "quality_every") if values.get(each)]
        settings = values | dict.fromkeys(once, 1) | changes
        with tempfile.TemporaryDirectory() as scratch:
            data = Settings().data
            if values.get("dataset") == "images" and "images_path" not in changes:
                data = Path(scratch)
                _pictures(data / values["images_path"])
            code = f"""
import json
from tests.scale.memory import measure
print("\\n" + json.dumps(measure({settings!r}, {str(data)!r})))
"""
            done = subprocess.run(
                [sys.executable, "-c", code],
                capture_output=True,
                text=True,
                env={**os.environ, "CUDA_VISIBLE_DEVICES": "-1"},
            )
        if done.returncode:
            sys.exit(done.stderr[-2000:])
        found = json.loads(done.stdout.splitlines()[-1])
        estimated, peak = found["estimated"] / 1e6, found["measured"] / 1e6
        print(f"| {name} | {estimated:,.0f} | {peak:,.0f} | {estimated / peak:.2f} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
