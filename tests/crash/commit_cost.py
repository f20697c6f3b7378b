"""What a commit that survives power loss costs: SQLite's synchronous=FULL against NORMAL, through
the trainer's own writes.

python -m tests.crash.commit_cost [COMMITS] [FOLDER]
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ganboard.db.engine import make_engine
from ganboard.db.migrate import upgrade
from ganboard.db.runs import commands, reports
from tests.unit.db import stored_runs

MODES = ("NORMAL", "FULL")


def words(seconds: list[float]) -> str:
    p50, p99 = np.percentile(seconds, [50, 99]) * 1000
    return f"p50 {p50:6.2f} ms, p99 {p99:6.2f} ms, mean {np.mean(seconds) * 1000:6.2f} ms"


def timed(write: Callable[[], object]) -> float:
    began = time.perf_counter()
    write()
    return time.perf_counter() - began


def main(commits: int, parent: str | None) -> None:
    """Both modes take turns on one database, so that what else the machine does falls on both."""
    with tempfile.TemporaryDirectory(dir=parent) as name:
        with (Path(name) / "probe").open("wb", buffering=0) as file:
            probe = [
                timed(lambda: (file.write(bytes(4096)), os.fdatasync(file.fileno())))
                for _ in range(commits)
            ]
        print(f"4 KB appended, fdatasync      {words(probe)}")
        engine = make_engine(f"sqlite:///{Path(name) / 'ganboard.db'}")
        upgrade(engine)
        own = stored_runs.training(engine, lease_seconds=3600.0)
        losses = np.ones(25, np.float32)

        def append(number: int) -> None:  # as the loop reports its steps, 25 at a time
            epoch, block = divmod(number, 8)
            reports.append_steps(
                engine,
                **own,
                epoch=epoch + 1,
                first=25 * block,
                g_losses=losses,
                d_losses=losses,
                series={"g_rate": losses},
            )

        seconds: dict[tuple[str, str], list[float]] = {}
        for number in range(commits):
            mode = MODES[number % 2]
            with engine.connect() as connection:  # the pool has this one connection
                connection.connection.driver_connection.execute(f"PRAGMA synchronous={mode}")
            seconds.setdefault(("reports.append_steps", mode), []).append(
                timed(lambda number=number: append(number))
            )  # type: ignore[misc]
            seconds.setdefault(("commands.renew", mode), []).append(
                timed(lambda: commands.renew(engine, **own))
            )
        engine.dispose()
        for (write, mode), values in sorted(seconds.items()):
            print(f"{write:21} {mode:7} {words(values)}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 1000, sys.argv[2] if sys.argv[2:] else None)
