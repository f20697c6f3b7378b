"""How quick and how small the web process is over a seeded database: `python -m tests.scale.measure
HOME`. See docs/scale.md."""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from ganboard.db import stats
from ganboard.db.models import Run
from ganboard.db.runs import queries, reports
from ganboard.worker.context import Context, open_context
from tests.scale.browser import first_charts, live_tabs
from tests.scale.server import Web, web_server
from tests.scale.tab import Tab, new_tab

COMPARED = 8
REPEATS = 5  # different runs whose page is opened
TICKS = 20
WITHOUT_LIVE_PARTS = "claims"  # a page whose only fragments are those of every page
PORTION = 20  # steps that arrive between two ticks
MEMORY_GOAL = 300e6
MEMORY_WORDS = f"{MEMORY_GOAL / 2**20:.0f} MiB"
FLAT = 0.05  # growth over the second half of the walks that still counts as flat


@dataclass(frozen=True)
class Line:
    """One row of the report; no goal: for information."""

    what: str
    measured: str
    goal: str = ""
    reached: bool | None = None


@dataclass(frozen=True)
class Took:
    """Seconds by the clock, and of processor time: where they differ, the machine had other
    work."""

    clock: float
    processor: float


def timed(web: Web, work: Callable[[], object]) -> Took:
    clock, processor = time.perf_counter(), web.processor()
    work()
    return Took(time.perf_counter() - clock, web.processor() - processor)


def seconds(what: str, values: list[Took], goal: float | None = None) -> Line:
    """The median by the clock is held against the goal; the worst and the mean processor time are
    shown beside it."""
    middle, worst = statistics.median(one.clock for one in values), max(one.clock for one in values)
    used = statistics.fmean(one.processor for one in values)
    shown = (
        f"{1000 * middle:,.0f} ms (worst of {len(values)}: {1000 * worst:,.0f}, processor:"
        f" {1000 * used:,.0f})"
    )
    return Line(
        what,
        shown,
        "" if goal is None else f"{1000 * goal:,.0f} ms",
        None if goal is None else middle < goal,
    )


class Trainer:
    """Appends steps to the run that trains, as its trainer would, also after an earlier
    measurement."""

    def __init__(self, context: Context, run: Run) -> None:
        assert run.steps_per_epoch
        self.context, self.run = context, run
        self.random = np.random.default_rng(0)

    def train(self, count: int = PORTION) -> None:
        run = queries.get_run(self.context.engine, self.run.id)
        assert run is not None
        assert run.steps_per_epoch
        done = run.step % run.steps_per_epoch
        count = min(count, run.steps_per_epoch - done)
        g, d = (1 + 0.1 * self.random.standard_normal((2, count))).astype(np.float32)
        epoch = 1 + run.step // run.steps_per_epoch
        reports.append_steps(
            self.context.engine,
            run_id=run.id,
            attempt=run.attempt,
            epoch=epoch,
            first=done,
            g_losses=g,
            d_losses=d,
            images_per_second=900,
        )

    @contextmanager
    def training(self, every: float = 0.5) -> Iterator[None]:
        """Steps arrive in the background."""
        over = threading.Event()

        def work() -> None:
            while not over.wait(every):
                self.train()

        thread = threading.Thread(target=work)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


def measure(context: Context, web: Web, *, walks: int, tabs: int) -> Iterator[Line]:
    ids = [
        run.id for run in queries.list_runs(context.engine, statuses=("finished",), limit=COMPARED)
    ]
    live = queries.list_runs(context.engine, statuses=("running",), limit=1)[0]
    yield seconds("First page of a fresh server (Runs)", [opened(web)])
    yield seconds("First paint: Runs", [opened(web) for _ in range(REPEATS)], 0.5)
    yield seconds(
        "First paint: Run", [opened(web, "run", f"run={run_id}") for run_id in ids[:REPEATS]], 0.5
    )
    yield seconds(
        "First paint: Run that trains",
        [opened(web, "run", f"run={live.id}") for _ in range(REPEATS)],
        0.5,
    )
    yield seconds(
        f"First paint: Compare {COMPARED}",
        [opened(web, "compare", f"runs={','.join(order)}") for order in rotated(ids)],
        1.0,
    )
    with new_tab(web.url) as tab:
        tab.open()
        others = [page for page in tab.pages if page not in ("", "runs", "run", "compare")]
    for page in others:
        yield seconds(
            f"First paint: {page.capitalize()}", [opened(web, page) for _ in range(REPEATS)]
        )
    trainer = Trainer(context, live)
    yield seconds("Live tick: Run", ticks(web, trainer, "run", f"run={live.id}"), 0.05)
    yield seconds(
        "Live tick: Compare",
        ticks(web, trainer, "compare", f"runs={','.join([live.id, *ids[1:]])}"),
    )
    yield seconds("Live tick: Runs", ticks(web, trainer, "", ""))
    yield walked(
        web,
        walks,
        [
            ("", ""),
            ("run", f"run={ids[0]}"),
            ("compare", f"runs={','.join(ids)}"),
            *((page, "") for page in others),
        ],
    )
    if tabs:
        for name, values in first_charts(web.url, REPEATS).items():
            yield Line(
                f"First chart after a click: {name}",
                f"{1000 * statistics.median(values):,.0f} ms (worst of {len(values)}:"
                f" {1000 * max(values):,.0f})",
                "1,000 ms",
                statistics.median(values) < 1.0,
            )
        with trainer.training():
            shown = live_tabs(
                web.url,
                tabs,
                [f"run?run={live.id}", "", f"compare?runs={live.id},{ids[0]}", "system"],
            )
        yield Line(f"{tabs} browser tabs live", shown.words, "no errors", not shown.errors)
        yield Line(
            "Resident memory afterwards",
            f"{web.resident() / 2**20:,.0f} MiB",
            MEMORY_WORDS,
            web.resident() < MEMORY_GOAL,
        )


def opened(web: Web, page: str = "", query: str = "") -> Took:
    """A page in a session of its own."""
    with new_tab(web.url) as tab:
        return timed(web, lambda: tab.open(page, query))


def rotated(ids: list[str]) -> Iterator[list[str]]:
    """The same runs in other orders: what is cached for one list does not serve the next."""
    for start in range(REPEATS):
        yield ids[start:] + ids[:start]


def ticks(web: Web, trainer: Trainer, page: str, query: str) -> list[Took]:
    """Ticks of all of the page's own fragments while new steps arrive between them."""
    found = []
    with new_tab(web.url) as tab:
        tab.open(WITHOUT_LIVE_PARTS)
        everywhere = set(tab.timers)
        tab.open(page, query)
        for _ in range(TICKS):
            trainer.train()
            own = tab.timers.keys() - everywhere
            found.append(timed(web, lambda own=own: [tab.tick(fragment) for fragment in own]))  # type: ignore[misc]
    return found


def walked(web: Web, walks: int, pages: list[tuple[str, str]]) -> Line:
    """Resident memory while one tab walks all pages and their tabs."""
    resident = []
    with new_tab(web.url) as tab:
        for _ in range(walks):
            walk(tab, pages)
            resident.append(web.resident())
    half, last = resident[len(resident) // 2], resident[-1]
    words = f"{resident[0] / 2**20:,.0f}, {half / 2**20:,.0f}, {last / 2**20:,.0f} MiB"
    return Line(
        f"Resident memory after walk 1, {walks // 2 + 1}, {walks}",
        words,
        f"{MEMORY_WORDS}, flat",
        last < MEMORY_GOAL and last < half * (1 + FLAT),
    )


def walk(tab: Tab, pages: list[tuple[str, str]]) -> None:
    for page, query in pages:
        tab.open(page, query)
        for fragment in list(tab.timers):
            tab.tick(fragment)


def report(lines: Iterator[Line], console: Console) -> bool:
    """Prints each line as soon as it is there, then the table; True when every goal was reached."""
    table = Table("", "measured", "goal", "")
    reached = True
    for line in lines:
        mark = {None: "", True: "yes", False: "NO"}[line.reached]
        console.print(f"{line.what}: {line.measured} {mark}", style="dim")
        table.add_row(line.what, line.measured, line.goal, mark)
        reached = reached and line.reached is not False
    console.print(table)
    return reached


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.scale.measure",
        description="Measure the web process over a seeded database.",
    )
    parser.add_argument("home", type=Path, help="a state directory that tests.scale.seed filled")
    parser.add_argument(
        "--walks",
        type=int,
        default=20,
        help="how often all pages are opened for the memory (default: 20)",
    )
    parser.add_argument(
        "--tabs", type=int, default=20, help="browser tabs at once; 0: no browser (default: 20)"
    )
    options = parser.parse_args()
    os.environ["GANBOARD_HOME"] = str(options.home.resolve())
    context = open_context()
    console = Console()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder, web_server(Path(folder) / "web.log") as web:
        runs = stats.statistics(context.engine)["run"]
        console.print(
            f"{runs:,} runs, {os.cpu_count()} cores, load {load:.1f} at the start", style="dim"
        )
        return (
            0
            if report(measure(context, web, walks=options.walks, tabs=options.tabs), console)
            else 1
        )


if __name__ == "__main__":
    sys.exit(main())
