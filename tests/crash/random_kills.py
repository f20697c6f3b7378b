"""A training killed at random moments, resumed each time, against one that nobody disturbed: equal
to the bit?

    python -m tests.crash.random_kills [KILLS] [SEED] ['{"setting": value}']

Takes about eight seconds per kill of DCGAN; '{"model": "gan3d"}' and '{"model": "pix2pix"}' have
small settings of their own. Moments are drawn uniformly from the start of the process on: imports,
saving and ends of epochs count.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from ganboard.gan.checkpoint import reader
from ganboard.gan.config import parse
from ganboard.gan.events import EpochDone, Event, Phase
from tests.crash import models

SETTINGS: dict[str, Any] = {
    "dataset": "digits", "limit": 512, "batch_size": 32, "epochs": 60, "grid_size": 4, "ema": 0.99,
    "accumulate": 2, "d_steps": 2, "schedule": "cyclic", "clip_norm": 5.0, "r1": 1.0,
}  # fmt: skip


TRAINING = "training"  # a file that is there as soon as the first step has ended


def child(directory: str, attempt: str, settings: str) -> None:
    from ganboard.gan.training.loop import train

    with (Path(directory) / "epochs").open("a", buffering=1) as log:

        def sink(event: Event) -> None:
            if isinstance(event, EpochDone):
                print(
                    json.dumps(
                        [
                            event.epoch,
                            event.g_loss.hex(),
                            event.d_loss.hex(),
                            *event.g_path,
                            *event.d_path,
                        ]
                    ),
                    file=log,
                )
            # it comes again after each checkpoint
            if event == Phase("training") and not (place / TRAINING).exists():
                (place / TRAINING).touch()

        config, place = parse(json.loads(settings)), Path(directory)
        train(
            config,
            run_dir=place,
            data_dir=place.parent,
            attempt=int(attempt),
            sink=sink,
            control=lambda: "go",
        )


def attempt(directory: Path, number: int, settings: dict[str, Any], seconds: float | None) -> bool:
    """One attempt, killed after `seconds` unless it ends before; returns whether it finished."""
    directory.mkdir(exist_ok=True)
    command = [
        sys.executable,
        "-m",
        "tests.crash.random_kills",
        "child",
        str(directory),
        str(number),
        json.dumps(settings),
    ]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            return process.wait(seconds) == 0
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            return False


def outcome(directory: Path) -> tuple[dict[int, list[Any]], reader.Arrays]:
    """The last report of every epoch, and the final arrays; repeated reports of an epoch
    must be equal."""
    epochs: dict[int, list[Any]] = {}
    for line in (directory / "epochs").read_text().splitlines():
        number, *rest = json.loads(line)
        assert epochs.setdefault(number, rest) == rest, (
            f"epoch {number} was reported twice with different values"
        )
    arrays = reader.newest_arrays(directory / "checkpoints")
    return epochs, {name: array for name, array in arrays.items() if "seconds" not in name}


def main(kills: int = 20, seed: int = 0, changes: str = "{}") -> None:
    asked, moments = json.loads(changes), random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        own = (
            models.settings(asked["model"], Path(name)) | {"epochs": 60}
            if "model" in asked
            else SETTINGS
        )
        settings, began = {**own, **asked}, time.time()
        assert attempt(Path(name) / "whole", 1, settings, None), "the undisturbed training failed"
        start = Path(name, "whole", TRAINING).stat().st_mtime - began
        whole = time.time() - began - start
        # of many the mean counts, of few the longest
        share = (1.5 if kills >= 20 else 1.0) * whole / kills
        number, killed = 1, 0
        while killed < kills:
            left = kills - killed
            # every attempt begins with a start-up; the rest is spread so that the last kill comes
            # before the end
            number, done = (
                number + 1,
                attempt(
                    Path(name) / "killed", number, settings, moments.uniform(0.5, start + share)
                ),
            )
            killed += not done
            print(
                f"attempt {number - 1}: {'finished early' if done else 'killed'}, {left - 1} to go",
                flush=True,
            )
            assert not done, "it finished before the last kill: give it more epochs"
        while not attempt(Path(name) / "killed", number, settings, None):
            number += 1
            assert number < kills + 5, "it does not finish any more"
        (epochs, arrays), (wanted_epochs, wanted_arrays) = (
            outcome(Path(name) / part) for part in ("killed", "whole")
        )
        assert epochs == wanted_epochs, "epochs differ"
        assert sorted(epochs) == list(range(1, settings["epochs"] + 1))
        assert arrays.keys() == wanted_arrays.keys()
        assert all(np.array_equal(arrays[key], wanted_arrays[key]) for key in arrays), (
            "weights differ"
        )
    print(f"{kills} kills, {len(epochs)} epochs, {len(arrays)} arrays: equal to the bit")


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        child(*sys.argv[2:])
    else:
        main(*(kind(value) for kind, value in zip((int, int, str), sys.argv[1:], strict=False)))
