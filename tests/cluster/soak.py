"""Random faults against machines in network namespaces for as long as you like.

    python -m tests.cluster.soak [MINUTES] [SEED]

Four machines train runs on two, three and four hosts, one after the other; each of the four
controls the queue. While a run trains, faults strike: hosts are killed, paused, cut off from
everything or from one other host, links become slow, late or lossy, ranks and work-horses are
killed, the database restarts. Every run must finish with the losses of an undisturbed one to the
bit. Prints a line per fault, the times from a fault to the next finished step, and the violations
(exit 1).
"""

from __future__ import annotations

import random
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import psutil

from ganboard.db.models import ENDED, Run
from ganboard.db.placement import groups
from tests.cluster.fleet import Fleet, fleet
from tests.cluster.services import Machine, restart
from tests.crash.services.machines import texts
from tests.polling import wait_until
from tests.processes import below

HOSTS = 4
COUNTS = (2, 3, 4)
RECOVERY = 240.0
RANK, HORSE = "ganboard.worker.training.trainer", "ganboard.worker.queue.rq_worker"


def kill_host(made: Fleet, victim: Machine) -> None:
    victim.kill()
    victim.host.mend()
    victim.start()


def cut_off(made: Fleet, victim: Machine) -> None:
    victim.host.cut()
    time.sleep(30)  # longer than any lease
    victim.host.mend()


def blink(made: Fleet, victim: Machine) -> None:
    victim.host.cut()
    time.sleep(3)  # shorter than a lease
    victim.host.mend()


def pause(made: Fleet, victim: Machine) -> None:
    victim.host.signal(signal.SIGSTOP)
    time.sleep(30)
    victim.host.signal(signal.SIGCONT)


def kill_rank(made: Fleet, victim: Machine) -> None:
    _kill_below(victim, RANK)


def kill_horse(made: Fleet, victim: Machine) -> None:
    _kill_below(victim, HORSE)


def restart_database(made: Fleet, victim: Machine) -> None:
    restart(made.services.database)


def part(made: Fleet, victim: Machine) -> None:
    """Two hosts lose each other alone."""
    other = next(one for one in made.machines if one is not victim)
    victim.host.cut_from(other.host)
    time.sleep(45)  # until both have noticed
    for one in (victim, other):
        one.host.normal()


def limit(made: Fleet, victim: Machine) -> None:
    _slow(victim, rate_mbit=10)


def delay(made: Fleet, victim: Machine) -> None:
    _slow(victim, delay_ms=50)


def lose(made: Fleet, victim: Machine) -> None:
    _slow(victim, loss_percent=1)


FAULTS: tuple[Callable[[Fleet, Machine], None], ...] = (
    kill_host, cut_off, blink, pause, part, limit, delay, lose, kill_rank, kill_horse,
    restart_database,
)  # fmt: skip


def _slow(victim: Machine, **how: float) -> None:
    victim.host.slow(**how)
    time.sleep(20)
    victim.host.normal()


def _kill_below(victim: Machine, words: str) -> None:
    assert victim.worker is not None
    for process in below(psutil.Process(victim.worker.pid), words)[:1]:
        with suppress(psutil.NoSuchProcess):
            process.kill()


def disturbed(made: Fleet, run: Run, dice: random.Random, taken: dict[str, list[float]]) -> None:
    """Let faults strike until the run has ended."""
    while True:
        wait_until(
            lambda: made.stored(run).status in (*ENDED, "running"), seconds=RECOVERY, what="a start"
        )
        epoch = made.stored(run).epoch + dice.randint(1, 4)
        wait_until(
            lambda epoch=epoch: made.stored(run).status in ENDED or made.stored(run).epoch >= epoch,
            seconds=RECOVERY,
            what="an epoch",
        )
        now = made.stored(run)
        members = groups.members(made.context.engine, run.id)
        if now.status in ENDED:
            return
        if not members:
            continue
        fault, member = dice.choice(FAULTS), dice.choice(members)
        began = time.monotonic()
        fault(made, made.machine(member))
        lasted = time.monotonic() - began
        wait_until(
            lambda now=now: (
                made.stored(run).status in ENDED or made.stored(run).step > now.step + 4
            ),
            seconds=RECOVERY,
            what=f"recovery from {fault.__name__}",
        )
        taken[fault.__name__].append(time.monotonic() - began)
        print(
            f"{fault.__name__:<17} on {member.host} (index {member.index} of {len(members)}) lasted"
            f" {lasted:4.1f} s, training went on after {taken[fault.__name__][-1]:5.1f} s",
            flush=True,
        )


def soak(folder: Path, minutes: float, seed: int) -> int:
    """How many violations there were."""
    dice, taken, violations = random.Random(seed), defaultdict[str, list[float]](list), 0
    began, runs = time.monotonic(), 0
    with fleet(folder, HOSTS) as made:
        for hosts in COUNTS:
            made.undisturbed(hosts)
        print(f"{HOSTS} machines; losses of undisturbed runs known", flush=True)
        while time.monotonic() - began < 60 * minutes:
            hosts = dice.choice(COUNTS)
            made.all_there()
            run = made.submit(f"run {runs}", hosts)
            disturbed(made, run, dice, taken)
            runs += 1
            ended = made.stored(run)
            well = ended.status == "finished" and made.losses(ended) == made.undisturbed(hosts)
            violations += not well
            verdict = "equal to the bit" if well else f"VIOLATION: {texts(made.context, run)}"
            print(f"{runs} runs: {hosts} hosts, {ended.attempt} attempts, {verdict}", flush=True)
    times = [seconds for found in taken.values() for seconds in found]
    for name, found in sorted(taken.items()):
        print(f"{name:<17} {len(found):4} times, {np.median(found):5.1f} s (median)")
    p50, p99 = np.percentile(times, [50, 99])
    print(
        f"{len(times)} faults in {runs} runs; training went on {p50:.0f} s (p50), {p99:.0f} s (p99)"
        f" after a fault struck; violations: {violations}"
    )
    return violations


if __name__ == "__main__":
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 120.0
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    with tempfile.TemporaryDirectory(prefix="ganboard-soak-") as name:
        sys.exit(1 if soak(Path(name), minutes, seed) else 0)
