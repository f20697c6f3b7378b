"""Random faults against a small fleet for as long as you like, then the universal checker.

    python -m tests.crash.soak [MINUTES] [SEED]

`ganboard up` with three workers trains a mix of runs, each of a kind whose losses are known from an
undisturbed training. Every few seconds one fault of FAULTS strikes, and how long its victim takes
to get anywhere again is measured. At the end every run must have finished with the known losses to
the bit, and nothing may be lost, doubled or left over. Prints a line per fault, a table, and the
violations (exit 1). The home lies on a small tmpfs where that may be mounted, so that the disk can
be filled.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np

from ganboard.db.models import ACTIVE, ENDED
from ganboard.db.settings import Settings
from tests.crash import checker
from tests.crash.soak.faults import FAULTS
from tests.crash.soak.fleet import KINDS, RECOVERY, Fleet, no_process_left
from tests.polling import wait_until

PAUSE = (2.0, 10.0)  # seconds between the recovery from one fault and the next
DISK = 3 << 30  # bytes of the home's own disk


def recovered(fleet: Fleet, before: dict[str, tuple[int, str]]) -> bool:
    """Every run that trained has got further, or has ended; the dashboard answers."""
    fleet.again()
    now = fleet.steps()
    trained = [run_id for run_id, (_, status) in before.items() if status in ACTIVE]
    further = [
        run_id for run_id in trained if run_id in now and _further(before[run_id][0], *now[run_id])
    ]
    return bool(now) and len(further) == len(trained) and fleet.serves()


def _further(step: int, now: int, status: str) -> bool:
    # a trainer that was asked to end still takes a step, and a checkpoint
    return status in ENDED or (status == "running" and now > step)


def learn(fleet: Fleet) -> None:
    """The losses of every kind, from trainings that nothing disturbs."""
    for kind, settings in KINDS.items():
        values = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
        command = [
            str(Path(sys.executable).with_name("ganboard")),
            "train",
            "--preset",
            "tiny",
            "--name",
            kind,
            "--json",
            *values,
        ]
        answer = json.loads(
            subprocess.run(command, check=True, capture_output=True, text=True).stdout
        )
        fleet.golden[kind] = [
            (epoch["g_loss_hex"], epoch["d_loss_hex"]) for epoch in answer["epochs"]
        ]
        fleet.runs[answer["id"]] = kind
        print(f"known: {kind}, {len(fleet.golden[kind])} epochs", flush=True)


def soak(fleet: Fleet, minutes: float) -> dict[str, list[float]]:
    """Seconds to recovery by fault."""
    taken: dict[str, list[float]] = defaultdict(list)
    began = time.monotonic()
    names, weights = list(FAULTS), [weight for _, weight in FAULTS.values()]
    while time.monotonic() - began < 60 * minutes:
        with no_process_left():
            fleet.tidy()
            fleet.feed()
        wait_until(
            lambda: len(fleet.processes("ganboard.worker.training.trainer")) > 0,
            seconds=RECOVERY,
            every=0.2,
            what="a trainer",
        )
        time.sleep(fleet.random.uniform(*PAUSE))
        [name] = fleet.random.choices(names, weights)
        active = fleet.steps()
        struck = time.monotonic()
        FAULTS[name][0](fleet)
        over = time.monotonic()
        before = {
            run_id: (step, active[run_id][1])
            for run_id, (step, _) in fleet.steps().items()
            if run_id in active
        }
        wait_until(
            partial(recovered, fleet, before),
            seconds=RECOVERY,
            every=0.25,
            what=f"recovery from {name!r}",
        )
        taken[name].append(time.monotonic() - over)
        states = Counter(status for _, status in fleet.steps().values())
        words = ", ".join(f"{count} {status}" for status, count in sorted(states.items()))
        times = f"lasted {over - struck:5.1f} s, recovered {taken[name][-1]:5.1f} s after"
        print(f"{time.monotonic() - began:7.0f} s  {name:<22} {times}  ({words})", flush=True)
    return taken


def drain(fleet: Fleet) -> None:
    def ended() -> bool:
        fleet.again()
        known = fleet.known()
        return len(known) == len(fleet.runs) and all(run.status == "finished" for run in known)

    wait_until(ended, seconds=1800, every=1, what="the end of every run")


@contextmanager
def small_disk() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="ganboard-soak-") as name:
        home = Path(name) / "home"
        home.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(home)]
        mounted = (
            shutil.which("mount") and subprocess.run(mount, capture_output=True).returncode == 0
        )
        print(
            f"home {home},"
            f" {'a disk of its own' if mounted else 'no disk of its own: it is not filled'}",
            flush=True,
        )
        try:
            yield home
        finally:
            if mounted:
                subprocess.run(["umount", "--lazy", str(home)], check=True)


def main(minutes: float = 120.0, seed: int = 0) -> int:
    with small_disk() as home:
        fleet = Fleet(home, random.Random(seed))
        learn(fleet)
        fleet.start()
        try:
            taken = soak(fleet, minutes)
            drain(fleet)
            fleet.stop()
            violations = fleet.violations + checker.check(Settings(), fleet.expected())
            report(fleet, taken, violations)
            return bool(violations)
        except BaseException:
            print((home / "up.log").read_text()[-3000:])
            raise
        finally:
            assert fleet.up is not None
            if fleet.up.is_running():
                fleet.up.kill()
            fleet.context.engine.dispose()


def report(fleet: Fleet, taken: dict[str, list[float]], violations: list[str]) -> None:
    print("\n| fault | times | median recovery | longest |\n|---|---|---|---|")
    for name, seconds in sorted(taken.items()):
        print(f"| {name} | {len(seconds)} | {np.median(seconds):.1f} s | {max(seconds):.1f} s |")
    everything = [one for seconds in taken.values() for one in seconds]
    attempts = [*fleet.deleted, *(run.attempt for run in fleet.known())]
    print(
        f"\n{len(everything)} faults, recovery {np.median(everything):.1f} s (p50),"
        f" {np.quantile(everything, 0.99):.1f} s (p99); {len(attempts)} runs in {sum(attempts)}"
        f" attempts; {len(violations)} violations."
    )
    print("\n".join(violations))


if __name__ == "__main__":
    sys.exit(main(*(kind(value) for kind, value in zip((float, int), sys.argv[1:], strict=False))))
