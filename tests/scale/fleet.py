"""How a queue of many runs behaves with many machines: `python -m tests.scale.fleet [--machines 50]
[--runs 1000]`, with the PostgreSQL of GANBOARD_TEST_POSTGRES_URL.

Each machine is a process with a HOME of its own that looks for its next run and claims it as a
worker does (`worker.placement`), and ends it at once. Once with a message for each run, as Redis
delivers them, and once without any: then all machines want the same run. Prints claims per second,
what a claim costs, claims that another machine was faster with, what one round of the reconciler
costs with all runs waiting, and what the database did.
"""

from __future__ import annotations

import argparse
import math
import os
import secrets
import statistics
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

from ganboard.db import heartbeats
from ganboard.db.engine import make_engine
from ganboard.db.migrate import upgrade
from ganboard.db.placement import backlog
from ganboard.db.runs import commands, expiry
from ganboard.db.settings import Settings
from ganboard.gan.needs import Offer
from ganboard.gan.presets import load
from ganboard.worker import placement
from ganboard.worker.context import Context
from ganboard.worker.process import machine

HEARTBEAT_SECONDS = 3.0
FORK = get_context("fork")


@dataclass
class Machine:
    """What one machine has claimed, and how long each took."""

    claimed: list[str]
    seconds: list[float]  # from looking to having the run
    lost: int  # claims that another machine was faster with


def work(url: str, home: str, messages: Any, start: Any) -> Machine:
    settings = Settings(home=Path(home), database_url=url)
    settings.prepare_home()
    context = Context(settings, make_engine(settings.database, pooled=True))
    found, name, alive = Machine([], [], 0), machine.name(settings), -math.inf
    start.wait()
    while True:
        began = time.monotonic()
        if began - alive > HEARTBEAT_SECONDS:
            alive = began
            heartbeats.record(
                context.engine,
                name=f"{name}:1",
                host=name,
                pid=os.getpid(),
                run_id=None,
                machine=name,
            )
        notified = messages.get() if messages is not None else None
        if messages is not None and notified is None:
            return found
        run = placement.next_run(context, Offer(), notified=notified)
        if run is None:
            return found
        claim = placement.claim(context, run.id, home)
        if claim is not None:
            found.claimed.append(run.id)
            found.seconds.append(time.monotonic() - began)
            own = {"run_id": claim.run_id, "attempt": claim.attempt}
            commands.finish(context.engine, **own, status="finished")
        else:
            found.lost += 1
        if messages is not None and (claim is None or run.id != notified):
            messages.put(notified)  # what the reconciler does after some seconds


def queue_up(context: Context, runs: int) -> list[str]:
    config = load("tiny").model_dump(mode="json")
    made = commands.create_runs(
        context.engine, [(f"run {number}", config) for number in range(runs)]
    )
    return [run.id for run in made]


def round_of_reconciler(context: Context) -> float:
    """Seconds of one round, Redis left out."""
    began = time.monotonic()
    expiry.expire_leases(context.engine)
    placement.tend(context, backlog.waiting_runs(context.engine))
    return time.monotonic() - began


def commits(context: Context) -> int:
    with context.engine.connect() as connection:
        connection.execute(text("SELECT pg_stat_force_next_flush()"))
        found = connection.scalar(
            text("SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()")
        )
    return int(found or 0)


def measure(context: Context, url: str, machines: int, runs: int, *, notified: bool) -> None:
    ids = queue_up(context, runs)
    rounds = [round_of_reconciler(context) for _ in range(3)]
    before = commits(context)
    with tempfile.TemporaryDirectory() as folder, FORK.Manager() as manager:
        start, messages = manager.Event(), manager.Queue() if notified else None
        if messages is not None:
            for run_id in ids:
                messages.put(run_id)
        with FORK.Pool(machines) as pool:
            given = [(url, f"{folder}/{number}", messages, start) for number in range(machines)]
            results = [pool.apply_async(work, one) for one in given]
            time.sleep(3)  # until all stand at the start
            began = time.monotonic()
            start.set()
            while messages is not None and backlog.waiting_runs(context.engine, limit=1):
                time.sleep(0.1)
            took = time.monotonic() - began
            if messages is not None:
                for _ in range(machines):
                    messages.put(None)
            found = [result.get(600) for result in results]
            took = took if messages is not None else time.monotonic() - began
    claimed = Counter(run_id for one in found for run_id in one.claimed)
    assert set(claimed) == set(ids)
    assert max(claimed.values()) == 1, "two machines had the same run"
    seconds = sorted(one for one_machine in found for one in one_machine.seconds)
    p50, p99 = (1e3 * seconds[int(len(seconds) * share)] for share in (0.5, 0.99))
    lost = sum(one.lost for one in found)
    each = (commits(context) - before) / len(ids)
    print(
        f"{'with' if notified else 'without'} messages: {len(ids) / took:.0f} claims/s"
        f" ({len(ids)} runs in {took:.1f} s), each once; claim p50 {p50:.0f} ms, p99 {p99:.0f} ms;"
        f" {lost} lost to another machine; {each:.1f} transactions for a run; reconciler with"
        f" {runs} waiting {statistics.median(rounds) * 1e3:.0f} ms",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--machines", type=int, default=50)
    parser.add_argument("--runs", type=int, default=1000)
    options = parser.parse_args()
    server = make_url(os.environ["GANBOARD_TEST_POSTGRES_URL"]).set(drivername="postgresql+psycopg")
    name = f"fleet_{secrets.token_hex(4)}"
    admin = create_engine(server, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    url = server.set(database=name).render_as_string(hide_password=False)
    try:
        with tempfile.TemporaryDirectory() as home:
            settings = Settings(home=Path(home), database_url=url)
            settings.prepare_home()
            engine = make_engine(settings.database, pooled=False)
            upgrade(engine)
            context = Context(settings, engine)
            for notified in (True, False):
                measure(context, url, options.machines, options.runs, notified=notified)
            engine.dispose()
    finally:
        with admin.connect() as connection:
            connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))


if __name__ == "__main__":
    main()
