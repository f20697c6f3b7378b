"""What must hold after every round of crashes, whatever was killed, filled or cut: `check` says
what does not, one sentence each.

    violations = check(context, Expected({run.id: ("finished",)}, golden={run.id: hexes}))

Letters name the clauses: (a) states, (b) rows without gap or double, (c) golden losses, (d)
attempts, (e) listed checkpoints, (f) leftovers, (g) submitted = known. Ask when the round is over:
the processes of the home have ended, or are named in `alive`.
"""

from __future__ import annotations

import os
import re
import socket
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
import psutil
from sqlalchemy import Engine, text
from sqlmodel import select

from ganboard.db.engine import make_engine, reading
from ganboard.db.models import ACTIVE, Run
from ganboard.db.runs import queries
from ganboard.db.settings import Settings
from ganboard.gan.checkpoint import reader
from ganboard.worker.context import Context

TMP_SECONDS = 60.0
_BEGINS = re.compile(r"Attempt (\d+) started on ")
_RATES = ("g_rate", "d_rate")  # finite at every step; the effective rates need not be


@dataclass(frozen=True)
class Expected:
    """What the plan of a round allows."""

    states: Mapping[str, Collection[str]]  # of every submitted run, by its id
    # float.hex of G's and D's loss, from epoch 1 on
    golden: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)
    ports: Collection[int] = ()  # TCP on localhost that must not answer any more
    alive: Collection[int] = ()  # processes of this home that may live


def assert_none(where: Context | Settings, expected: Expected) -> None:
    """Fails with every violation on a line of its own."""
    violations = check(where, expected)
    assert not violations, "\n".join([f"{len(violations)} violations:", *violations])


def check(where: Context | Settings, expected: Expected) -> list[str]:
    """All violations, as sentences; an empty list is a round without loss and without lie."""
    settings = where.settings if isinstance(where, Context) else where
    engine = make_engine(settings.database)
    try:
        found = list(_known(engine, expected))
        runs = [
            run
            for run_id in expected.states
            if (run := queries.get_run(engine, run_id)) is not None
        ]
        found += [words for run in runs for words in check_run(engine, settings, run, expected)]
    finally:
        engine.dispose()
    return found + list(_leftovers(settings, expected))


def check_run(engine: Engine, settings: Settings, run: Run, expected: Expected) -> list[str]:
    """The violations of one run: clauses (a) to (e)."""
    clauses: list[Callable[[Engine, Settings, Run, Expected], Iterator[str]]] = [
        _state,
        _rows,
        _golden,
        _attempts,
        _checkpoints,
    ]
    return [
        f"Run {run.id} ({run.name}): {words}"
        for clause in clauses
        for words in clause(engine, settings, run, expected)
    ]


def _known(engine: Engine, expected: Expected) -> Iterator[str]:
    with reading(engine) as session:
        known, submitted = set(session.exec(select(Run.id))), set(expected.states)
    if lost := submitted - known:
        yield (
            f"(g) {len(lost)} submitted runs are unknown to the database:"
            f" {', '.join(sorted(lost))}."
        )
    if strange := known - submitted:
        yield (
            f"(g) {len(strange)} runs are known that nobody submitted:"
            f" {', '.join(sorted(strange))}."
        )
    if engine.url.get_backend_name() == "sqlite":
        with engine.connect() as connection:
            words = connection.execute(text("PRAGMA integrity_check")).scalars().all()
        if words != ["ok"]:
            yield f"(g) The database is damaged: {words[0]}."


def _state(engine: Engine, settings: Settings, run: Run, expected: Expected) -> Iterator[str]:
    allowed = expected.states[run.id]
    if run.status not in allowed:
        yield (
            f"(a) it is {run.status} ({run.error or 'no error'}), and the plan allows"
            f" {' or '.join(allowed)}."
        )
    if run.status in ACTIVE and (
        run.lease_until is None or run.lease_until < queries.database_time(engine)
    ):
        yield f"(a) it is {run.status} without a live lease."
    if run.status not in ACTIVE and (run.worker or run.lease_until):
        yield (
            f"(a) it is {run.status} and still belongs to {run.worker}, lease until"
            f" {run.lease_until}."
        )


def _rows(engine: Engine, settings: Settings, run: Run, expected: Expected) -> Iterator[str]:
    rows = queries.epochs(engine, run.id)
    numbers, per_epoch = [row.epoch for row in rows], run.steps_per_epoch
    if numbers != list(range(1, len(rows) + 1)):
        yield f"(b) its epochs are {numbers}: not 1 to n without gap or double."
    planned = run.config["epochs"]
    if run.status == "finished" and (len(rows), run.epoch, run.step) != (
        planned,
        planned,
        planned * (per_epoch or 0),
    ):
        yield (
            f"(b) it is finished with {len(rows)} rows of epochs, at epoch {run.epoch} and step"
            f" {run.step}; planned: {planned}."
        )
    if len(rows) < run.epoch:
        yield f"(b) its row says epoch {run.epoch}, and only {len(rows)} are stored."
    known: set[str] | None = None
    for row in rows:
        losses = queries.step_losses(engine, run.id, row.epoch)
        if (
            row.steps != per_epoch
            or losses is None
            or {len(losses.g_losses), len(losses.d_losses)} != {per_epoch}
        ):
            stored = (
                "no losses"
                if losses is None
                else f"{len(losses.g_losses)} and {len(losses.d_losses)} losses"
            )
            yield (
                f"(b) epoch {row.epoch} has {row.steps} steps and {stored} of steps, for"
                f" {per_epoch} steps per epoch."
            )
            continue
        means = tuple(
            float(np.mean(values, dtype=np.float64)).hex()
            for values in (losses.g_losses, losses.d_losses)
        )
        if means != (row.g_loss.hex(), row.d_loss.hex()):
            yield f"(b) epoch {row.epoch} is not the mean of its steps: {row.g_loss}, {row.d_loss}."
        series = queries.step_series(engine, run.id, row.epoch)
        known = known or set(series)
        if set(series) != known:
            yield (
                f"(b) epoch {row.epoch} has the series {sorted(series)}, the first one"
                f" {sorted(known)}."
            )
        for name, values in series.items():
            if len(values) != per_epoch or (name in _RATES and not np.isfinite(values).all()):
                yield (
                    f"(b) epoch {row.epoch}: {name} has {len(values)} values,"
                    f" {int(np.isnan(values).sum())} of them missing."
                )


def _golden(engine: Engine, settings: Settings, run: Run, expected: Expected) -> Iterator[str]:
    for event in queries.events(engine, run.id, limit=None):
        if "with different losses" in event.text:
            yield f"(c) {event.text}"
    wanted = expected.golden.get(run.id)
    for row in queries.epochs(engine, run.id) if wanted is not None else ():
        got = row.g_loss.hex(), row.d_loss.hex()
        if row.epoch > len(wanted or ()) or got != tuple((wanted or ())[row.epoch - 1]):
            yield (
                f"(c) the losses of epoch {row.epoch} are {got}, golden are"
                f" {(wanted or ())[row.epoch - 1 : row.epoch]}."
            )


def _attempts(engine: Engine, settings: Settings, run: Run, expected: Expected) -> Iterator[str]:
    events = sorted(queries.events(engine, run.id, limit=None), key=lambda event: event.id or 0)
    begun = [int(match[1]) for event in events if (match := _BEGINS.match(event.text))]
    if begun != list(range(1, run.attempt + 1)):
        yield f"(d) attempts {begun} began, and the run's row says {run.attempt}."
    if back := [
        (a.attempt, b.attempt, b.text) for a, b in pairwise(events) if b.attempt < a.attempt
    ]:
        yield f"(d) attempt {back[0][1]} wrote after attempt {back[0][0]} had: {back[0][2]!r}."
    rows = [row.attempt for row in queries.epochs(engine, run.id)]
    if any(attempt > run.attempt for attempt in rows) or (
        run.status == "finished" and rows != sorted(rows)
    ):
        yield f"(d) its epochs were written by the attempts {rows}, of {run.attempt}."


def _checkpoints(engine: Engine, settings: Settings, run: Run, expected: Expected) -> Iterator[str]:
    listed = [(row.step, row.attempt, row.digest) for row in queries.checkpoints(engine, run.id)]
    for (step, attempt), words in reader.verify(
        settings.run_dir(run.id) / "checkpoints", listed
    ).items():
        yield (
            f"(e) the listed checkpoint of step {step}, attempt {attempt}, does not load: {words}."
        )
    if run.status == "finished" and run.step not in [step for step, _, _ in listed]:
        yield (
            f"(e) it is finished at step {run.step}, and listed are the steps"
            f" {sorted(step for step, _, _ in listed)}."
        )


def _leftovers(settings: Settings, expected: Expected) -> Iterator[str]:
    for path in settings.state.rglob("*.tmp"):
        with suppress(FileNotFoundError):  # somebody was just about to finish it
            if (age := time.time() - path.lstat().st_mtime) > TMP_SECONDS:
                yield f"(f) {path.relative_to(settings.state)} is left over since {age:.0f} s."
    for process in psutil.process_iter():
        if process.pid not in {os.getpid(), *expected.alive} and _belongs(process, settings.state):
            yield f"(f) process {process.pid} is left over: {_words(process)}."
    for port in expected.ports:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                yield f"(f) somebody still listens on port {port}."


def _belongs(process: psutil.Process, home: Path) -> bool:
    """Whether a process works for `home`: by its environment, or, since redis-server writes over
    that, by the folder it works in."""
    with suppress(psutil.Error, OSError):
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        if process.environ().get("GANBOARD_HOME") == str(home):
            return True
    with suppress(psutil.Error, OSError):
        return Path(process.cwd()).is_relative_to(home)
    return False


def _words(process: psutil.Process) -> str:
    with suppress(psutil.Error):
        return " ".join(process.cmdline())[:200]
    return "it is just ending"
