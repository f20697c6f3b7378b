"""Many processes on one database, and a database that loses the end of its files.

    python -m tests.crash.database [CLAIMS] [SECONDS] [COPIES]

SQLite, and PostgreSQL where GANBOARD_TEST_POSTGRES_URL names a server.
"""

from __future__ import annotations

import os
import random
import secrets
import shutil
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.synchronize import Event, Semaphore
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import Engine, text
from sqlalchemy.engine import make_url

from ganboard.db.engine import make_engine
from ganboard.db.migrate import upgrade
from ganboard.db.runs import commands, queries, reports
from tests.unit.db import stored_runs
from tests.unit.db.conftest import SERVER
from tests.unit.db.stored_runs import IN_FORK

PROCESSES = 8


def percentiles(seconds: Sequence[float]) -> str:
    p50, p99 = np.percentile(seconds, [50, 99]) * 1000
    return f"p50 {p50:.1f} ms, p99 {p99:.1f} ms"


# --- claims ---


def claim_all_at_once(
    url: str, rounds: int, processes: int = PROCESSES
) -> tuple[list[float], Counter[str]]:
    """`processes` try to claim the same `rounds` runs, all at about the same time. Returns (seconds
    of each try, winners of each run)."""
    engine = make_engine(url)
    run_ids = [
        run.id
        for run in commands.create_runs(
            engine, [(f"run {i}", {"batch_size": 8}) for i in range(rounds)]
        )
    ]
    engine.dispose()
    with IN_FORK.Manager() as manager:
        outcomes = manager.list()
        candidates = [
            IN_FORK.Process(target=_claim_all, args=(url, run_ids, number, outcomes))
            for number in range(processes)
        ]
        for candidate in candidates:
            candidate.start()
        for candidate in candidates:
            candidate.join()
        assert [candidate.exitcode for candidate in candidates] == [0] * processes, "a claim raised"
        results = list(outcomes)
    return [s for seconds, _ in results for s in seconds], Counter(
        run_id for _, won in results for run_id in won
    )


def _claim_all(url: str, run_ids: list[str], number: int, outcomes: Any) -> None:
    engine, seconds, won = make_engine(url), [], []
    for run_id in run_ids:
        began = time.perf_counter()
        claim = commands.claim(engine, run_id=run_id, worker=f"w-{number}", lease_seconds=3600.0)
        seconds.append(time.perf_counter() - began)
        if claim is not None:
            won.append(run_id)
    engine.dispose()
    outcomes.append((seconds, won))


# --- writers and readers ---


def writers_and_readers(
    url: str, seconds: float, least: int = 8, writers: int = 8, readers: int = 4
) -> tuple[list[float], list[float], int]:
    """Trainers and pages on one database for `seconds`, longer where a slow disk has not let each
    kind come round `least` times. Returns (seconds of each write, of each read, rows acknowledged);
    fails if any call raised."""
    engine = make_engine(url)
    owners = [stored_runs.training(engine, lease_seconds=3600.0) for _ in range(writers)]
    engine.dispose()
    with IN_FORK.Manager() as manager:
        outcomes = manager.list()
        stop, written, read = IN_FORK.Event(), IN_FORK.Semaphore(0), IN_FORK.Semaphore(0)
        tasks = [(_write, own, written) for own in owners] + [
            (_read, owners[number % writers], read) for number in range(readers)
        ]
        processes = [
            IN_FORK.Process(target=task, args=(url, own, stop, rounds, outcomes))
            for task, own, rounds in tasks
        ]
        for process in processes:
            process.start()
        time.sleep(seconds)
        for rounds in (written, read):
            for _ in range(least):
                assert rounds.acquire(timeout=60), "a writer or reader does not come round"
        stop.set()
        for process in processes:
            process.join()
        assert [process.exitcode for process in processes] == [0] * len(processes), "a call raised"
        results = list(outcomes)
    engine = make_engine(url)
    for run_id, epochs in ((run_id, n) for kind, run_id, n, _ in results if kind == "write"):
        assert [row.epoch for row in queries.epochs(engine, run_id)] == list(
            range(1, epochs + 1)
        ), "an acknowledged epoch is missing"
    engine.dispose()
    by_kind = {
        kind: [s for k, _, _, each in results if k == kind for s in each]
        for kind in ("write", "read")
    }
    return by_kind["write"], by_kind["read"], sum(n for kind, _, n, _ in results if kind == "write")


def _write(url: str, own: dict[str, Any], stop: Event, rounds: Semaphore, outcomes: Any) -> None:
    engine, seconds, epoch = make_engine(url), [], 0
    while not stop.is_set():
        for write in (
            lambda epoch=epoch: stored_runs.steps(
                engine, own, epoch + 1, 0, [0.5] * stored_runs.STEPS
            ),
            lambda epoch=epoch: stored_runs.finish_epoch(engine, own, epoch + 1),
            lambda: commands.renew(engine, **own),
        ):
            began = time.perf_counter()
            write()
            seconds.append(time.perf_counter() - began)
        epoch += 1
        rounds.release()
    engine.dispose()
    outcomes.append(("write", own["run_id"], epoch, seconds))


def _read(url: str, own: dict[str, Any], stop: Event, rounds: Semaphore, outcomes: Any) -> None:
    engine, seconds = make_engine(url), []
    while not stop.is_set():
        began = time.perf_counter()
        queries.get_run(engine, own["run_id"])
        queries.epochs(engine, own["run_id"])
        queries.list_runs(engine)
        seconds.append(time.perf_counter() - began)
        rounds.release()
        stop.wait(0.02)
    engine.dispose()
    outcomes.append(("read", own["run_id"], 0, seconds))


# --- files cut short ---


def written_history(path: Path, commits: int) -> list[str]:
    """An SQLite database whose log was never taken up, as a process that is killed leaves it.
    Returns the notes in the order of commits."""
    engine = make_engine(f"sqlite:///{path}", pooled=False)
    upgrade(engine)
    own = stored_runs.training(engine, lease_seconds=3600.0)
    # while a connection is open nobody takes the log up and deletes it
    keeper = sqlite3.connect(path)
    keeper.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    keeper.execute("SELECT count(*) FROM run").fetchall()
    notes = []
    for number in range(commits):
        stored_runs.steps(engine, own, number + 1, 0, [float(number)] * stored_runs.STEPS)
        notes.append(f"note {number}")
        reports.add_event(engine, **own, level="info", text=notes[-1])
    for suffix in ("", "-wal"):
        shutil.copy(f"{path}{suffix}", f"{path}.cut{suffix}")
    keeper.close()
    engine.dispose()
    return notes


def fault_of_copy(
    cut: Path, copy: Path, notes: list[str], length: int, chance: random.Random | None
) -> str | None:
    """What is wrong with a copy whose log ends after `length` bytes, followed by garbage if there
    is `chance`; None if nothing is."""
    shutil.copy(cut, copy)
    log = Path(f"{cut}-wal").read_bytes()[:length]
    Path(f"{copy}-wal").write_bytes(
        log + (chance.randbytes(chance.randrange(1, 9000)) if chance else b"")
    )
    engine = make_engine(f"sqlite:///{copy}")
    try:
        with engine.connect() as connection:
            if (words := connection.execute(text("PRAGMA integrity_check")).scalars().all()) != [
                "ok"
            ]:
                return f"{length} bytes of the log: {words[0]}"
        run = queries.list_runs(engine)[0]
        read_notes = [
            event.text
            for event in queries.events(engine, run.id, limit=None)
            if event.text.startswith("note ")
        ][::-1]
        if read_notes != notes[: len(read_notes)]:
            return f"{length} bytes of the log: a later row is there without an earlier one"
        epochs = len(read_notes)
        if queries.step_losses(engine, run.id, epochs + 1):
            epochs += 1
        if (
            any(
                queries.step_losses(engine, run.id, epoch) is None for epoch in range(1, epochs + 1)
            )
            or run.step != epochs * stored_runs.STEPS
        ):
            return (
                f"{length} bytes of the log: {len(read_notes)} notes, {epochs} epochs and step"
                f" {run.step} do not fit"
            )
        # it goes on
        stored_runs.steps(engine, {"run_id": run.id, "attempt": 1}, epochs + 1, 0, [1.0])
    finally:
        engine.dispose()
        for suffix in ("", "-wal", "-shm"):
            Path(f"{copy}{suffix}").unlink(missing_ok=True)
    return None


def faults_of_copies(folder: Path, copies: int, commits: int, seed: int) -> Iterator[str]:
    notes = written_history(folder / "ganboard.db", commits)
    cut, chance = folder / "ganboard.db.cut", random.Random(seed)
    size = Path(f"{cut}-wal").stat().st_size
    lengths = [0, size] + [chance.randrange(size + 1) for _ in range(copies - 2)]
    for number, length in enumerate(lengths):
        if words := fault_of_copy(
            cut, folder / "copy.db", notes, length, chance if number % 3 == 2 else None
        ):
            yield words


# --- all of it ---


@contextmanager
def databases(folder: Path) -> Iterator[dict[str, str]]:
    """URLs of fresh databases with this version's schema, by backend; PostgreSQL only where a
    server is named."""
    urls = {"SQLite": f"sqlite:///{folder / 'shared.db'}"}
    server, schema = os.environ.get(SERVER), f"crash_{secrets.token_hex(6)}"
    if server:
        admin_url = make_url(server).set(drivername="postgresql+psycopg")
        admin: Engine = make_engine(admin_url.render_as_string(hide_password=False))
        with admin.begin() as connection:
            connection.execute(text(f"CREATE SCHEMA {schema}"))
        urls["PostgreSQL"] = admin_url.update_query_dict(
            {"options": f"-csearch_path={schema}"}
        ).render_as_string(hide_password=False)
    try:
        for url in urls.values():
            engine = make_engine(url)
            upgrade(engine)
            engine.dispose()
        yield urls
    finally:
        if server:
            with admin.begin() as connection:
                connection.execute(text(f"DROP SCHEMA {schema} CASCADE"))
            admin.dispose()


def main(claims: int = 10_000, seconds: int = 60, copies: int = 500) -> int:
    with tempfile.TemporaryDirectory() as name, databases(Path(name)) as urls:
        for backend, url in urls.items():
            took, winners = claim_all_at_once(url, claims)
            wrong = claims - sum(count == 1 for count in winners.values())
            print(
                f"{backend}: {PROCESSES} processes x {claims} claims: {wrong} without exactly one"
                f" winner; {percentiles(took)}",
                flush=True,
            )
        for backend, url in urls.items():
            writes, reads, rows = writers_and_readers(url, seconds)
            print(
                f"{backend}: 8 writers and 4 readers for {seconds} s: {rows} epochs, none lost,"
                " nothing raised",
                flush=True,
            )
            print(f"  writes {percentiles(writes)}, reads {percentiles(reads)}", flush=True)
        bad = list(faults_of_copies(Path(name), copies, commits=100, seed=0))
        print(
            f"SQLite: {copies} copies with a log cut anywhere, a third with garbage behind it:"
            f" {len(bad)} bad",
            *bad[:20],
            sep="\n",
        )
    return bool(bad or wrong)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
