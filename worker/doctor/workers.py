"""Who works: workers of both kinds by the database, and what waits for them."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Engine

from ganboard.db.models import WAITING
from ganboard.db.runs import holders, queries
from ganboard.worker.doctor.check import Check

LONG_WAIT_SECONDS = 60.0  # in the queue, while a worker is free


def workers(engine: Engine) -> Iterator[Check]:
    known = queries.workers(engine)
    alive = [state for state in known if state.alive]
    if alive:
        yield Check(
            "workers",
            "ok",
            f"{len(alive)} alive: {', '.join(state.worker.name for state in alive)}",
        )
    else:
        waiting = queries.count_runs(engine, statuses=WAITING)
        text = (
            f"none alive, and {waiting:,} run{'' if waiting == 1 else 's'} in the queue"
            if waiting
            else "none alive"
        )
        yield Check("workers", "warn", text, "Run: `ganboard up` (or `ganboard worker`)")
    for state in known:
        name, age = f"worker {state.worker.name}", state.age_seconds
        if not state.alive:
            ago = f"{age:.0f} s" if age < 120 else f"{age / 60:.0f} min"
            yield Check(
                name,
                "warn",
                f"silent for {ago}",
                "Start it again, if it should work: `ganboard worker`",
            )
        elif not state.worker.devices:
            yield Check(
                name,
                "warn",
                "has not described its machine yet",
                "It does within a minute of its start: wait for it.",
            )
    free = {state.worker.machine for state in alive if state.worker.run_id is None}
    newest = holders.newest_of_waiting(engine)
    held_elsewhere = {
        run_id
        for run_id, one in newest.items()
        if one.machine is not None and one.machine not in free
    }
    ripe = sum(
        run.id not in held_elsewhere
        for run in queries.waiting_runs(engine, for_seconds=LONG_WAIT_SECONDS)
    )
    if ripe and free:
        yield Check(
            "waiting",
            "warn",
            f"{ripe:,} waited over a minute while a worker is free",
            "Restart the worker, if this stays.",
        )
    versions = {
        str(state.worker.devices.get("versions", {}).get("tensorflow"))
        for state in alive
        if state.worker.devices
    }
    if len(versions) > 1:
        remedy = "Equal runs may differ: install the same version for all workers."
        yield Check(
            "versions",
            "warn",
            f"the workers have different TensorFlow versions ({', '.join(sorted(versions))})",
            remedy,
        )


def inference_worker(engine: Engine) -> Check:
    alive = [state.worker for state in queries.inference_workers(engine) if state.alive]
    if not alive:
        return Check(
            "inference worker",
            "warn",
            "none alive: requests of the playground, surfaces and predictions wait",
            "Run: `ganboard up` (or `ganboard inference-worker`)",
        )
    warm = any((worker.devices or {}).get("warm") for worker in alive)
    return Check(
        "inference worker",
        "ok",
        f"{len(alive)} alive, {'warm' if warm else 'loads TensorFlow with the first request'}",
    )
