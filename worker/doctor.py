"""What this machine has, what is missing, and what to do about it: for `ganboard doctor` and the page System alike."""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import psutil
from sqlalchemy import Engine

from db import migrate, queries
from db.engine import make_engine
from db.errors import DbError
from db.models import WAITING
from db.settings import Settings, SettingsError
from gan.data import catalog
from gan.hardware import cpu_flags
from worker import redis_server
from worker.context import connect
from worker.errors import QueueUnreachable, ServiceFailed

PYTHON = ((3, 11), (3, 13))  # from, below
MEMORY_BYTES = 2e9  # a DCGAN trainer at batch 64 stays below, TensorFlow included
DISK_BYTES, DISK_LEAST_BYTES = 2e9, 2e8
TENSORFLOW_SECONDS = 120.0
LONG_WAIT_SECONDS = 60.0  # in the queue, while a worker is free


@dataclass(frozen=True)
class Check:
    """One finding; `remedy` says what to do unless all is well."""

    name: str
    status: Literal["ok", "warn", "fail"]
    text: str
    remedy: str = ""


def checks(settings: Settings) -> Iterator[Check]:
    """All findings, the quick ones first. Changes nothing but that HOME and an empty SQLite file come into being."""
    yield from machine(settings)
    if settings.state.is_dir():
        yield from _services(settings)
    yield from data_sets(settings)
    yield from _tensorflow()


def machine(settings: Settings) -> Iterator[Check]:
    """What this process sees of its machine, within milliseconds. HOME comes into being."""
    yield _python()
    yield _cpu()
    yield _memory()
    yield _home(settings)
    yield _redis_binary(settings)


def installation(settings: Settings, engine: Engine) -> Iterator[Check]:
    """What the parts of this installation do: the queue, and by the database the workers, what waits for them, and the painter."""
    yield _queue(settings)
    yield from _workers(engine)
    yield _painter(engine)


def data_sets(settings: Settings) -> Iterator[Check]:
    """Which data sets are here, named "data: mnist" and so on."""
    for name, absent in catalog.available(settings.data).items():
        yield Check(f"data: {name}", "warn", "not here", absent) if absent else Check(f"data: {name}", "ok", "here")


def _python() -> Check:
    text = f"Python {platform.python_version()} on {platform.platform(terse=True)}, {platform.machine()}"
    if PYTHON[0] <= sys.version_info[:2] < PYTHON[1]:
        return Check("python", "ok", text)
    return Check("python", "fail", text, "Use Python 3.11 or 3.12.")


def _cpu() -> Check:
    flags = cpu_flags()
    bf16 = any("bf16" in flag for flag in flags)
    speed = "mixed_bfloat16 is fast here" if bf16 else "mixed_bfloat16 works, but without its own instructions"
    return Check("cpu", "ok", f"{psutil.cpu_count()} cores, {', '.join(flags) or 'no AVX2'}: {speed}")


def _memory() -> Check:
    memory = psutil.virtual_memory()
    text = f"{memory.available / 1e9:.1f} GB free of {memory.total / 1e9:.1f} GB"
    if memory.available < MEMORY_BYTES:
        return Check("memory", "warn", text, f"A trainer takes up to {MEMORY_BYTES / 1e9:.0f} GB: end other programs.")
    return Check("memory", "ok", text)


def _home(settings: Settings) -> Check:
    try:
        home = settings.prepare_home()
    except SettingsError as error:
        return Check("home", "fail", f"{settings.state} cannot be written", str(error))
    free = shutil.disk_usage(home).free
    text = f"{home}, {free / 1e9:.1f} GB free"
    if free < DISK_BYTES:
        status: Literal["warn", "fail"] = "fail" if free < DISK_LEAST_BYTES else "warn"
        return Check(
            "home", status, text, "Free some space, or delete old runs: checkpoints take about 30 MB each, snapshots of their paths 5 MB."
        )
    return Check("home", "ok", text)


def _services(settings: Settings) -> Iterator[Check]:
    try:
        engine = make_engine(settings.database, pooled=False)
        where = engine.url.render_as_string(hide_password=True)
        found, wanted = migrate.revision(engine), migrate.head()
    except (DbError, SettingsError) as error:
        yield Check("database", "fail", "not usable", str(error))
        yield _queue(settings)
        return
    if found == wanted:
        yield Check("database", "ok", f"{where}, schema {found}")
        yield from installation(settings, engine)
        return
    yield Check("database", "warn", f"{where}, schema {found or 'still empty'}, not {wanted}", "Run: `ganboard db upgrade`")
    yield _queue(settings)
    yield Check("workers", "warn", "not known before the database is upgraded", "Run: `ganboard up`")


def _queue(settings: Settings) -> Check:
    named = bool(settings.redis_url)
    try:
        connect(settings).close()
    except QueueUnreachable:
        remedy = "Check GANBOARD_REDIS_URL" if named else "Run: `ganboard up`"
        return Check("queue", "fail" if named else "warn", "does not answer", f"{remedy}; new runs are stored and start then.")
    return Check("queue", "ok", "the server of GANBOARD_REDIS_URL answers" if named else "the embedded Redis answers")


def _workers(engine: Engine) -> Iterator[Check]:
    known = queries.workers(engine)
    alive = [state for state in known if state.alive]
    if alive:
        yield Check("workers", "ok", f"{len(alive)} alive: {', '.join(state.worker.name for state in alive)}")
    else:
        waiting = queries.count_runs(engine, statuses=WAITING)
        text = f"none alive, and {waiting:,} run{'' if waiting == 1 else 's'} in the queue" if waiting else "none alive"
        yield Check("workers", "warn", text, "Run: `ganboard up` (or `ganboard worker`)")
    for state in known:
        name, age = f"worker {state.worker.name}", state.age_seconds
        if not state.alive:
            ago = f"{age:.0f} s" if age < 120 else f"{age / 60:.0f} min"
            yield Check(name, "warn", f"silent for {ago}", "Start it again, if it should work: `ganboard worker`")
        elif not state.worker.devices:
            yield Check(name, "warn", "has not described its machine yet", "It does within a minute of its start: wait for it.")
    ripe = len(queries.waiting_runs(engine, for_seconds=LONG_WAIT_SECONDS))
    if ripe and any(state.worker.run_id is None for state in alive):
        yield Check("waiting", "warn", f"{ripe:,} waited over a minute while a worker is free", "Restart the worker, if this stays.")
    versions = {str(state.worker.devices.get("versions", {}).get("tensorflow")) for state in alive if state.worker.devices}
    if len(versions) > 1:
        remedy = "Equal runs may differ: install the same version for all workers."
        yield Check("versions", "warn", f"the workers have different TensorFlow versions ({', '.join(sorted(versions))})", remedy)


def _painter(engine: Engine) -> Check:
    alive = [state.worker for state in queries.painters(engine) if state.alive]
    if not alive:
        return Check("painter", "warn", "none alive: the playground gets no answers", "Run: `ganboard up` (or `ganboard painter`)")
    warm = any((worker.devices or {}).get("warm") for worker in alive)
    return Check("painter", "ok", f"{len(alive)} alive, {'warm' if warm else 'loads TensorFlow with the first request'}")


def _redis_binary(settings: Settings) -> Check:
    try:
        return Check("redis", "ok", redis_server.find_binary())
    except ServiceFailed as error:
        if settings.redis_url:
            return Check("redis", "ok", "no redis-server found, and none is needed: GANBOARD_REDIS_URL names one")
        return Check("redis", "fail", "no redis-server found", str(error))


def _tensorflow() -> Iterator[Check]:
    """TensorFlow and its devices, asked in a process of its own: it takes seconds to start and memory to keep."""
    install = "Install it: `pip install 'ganboard[cpu]'` (or `ganboard[gpu]`)."
    try:
        asked = subprocess.run([sys.executable, "-m", "gan.hardware"], capture_output=True, text=True, timeout=TENSORFLOW_SECONDS)
    except subprocess.TimeoutExpired:
        yield Check("tensorflow", "fail", f"did not start within {TENSORFLOW_SECONDS:.0f} s", "Try: `python -m gan.hardware`")
        return
    if asked.returncode:
        last = (asked.stderr.strip().splitlines() or [f"exit code {asked.returncode}"])[-1]
        yield Check("tensorflow", "fail", last[:300], install)
        return
    hardware: dict[str, Any] = json.loads(asked.stdout.splitlines()[-1])
    versions = hardware["versions"]
    yield Check("tensorflow", "ok", f"TensorFlow {versions.get('tensorflow')}, Keras {versions.get('keras')}")
    yield _accelerators(hardware)


def _accelerators(hardware: dict[str, Any]) -> Check:
    names = [gpu["name"] for gpu in hardware["gpus"]] + hardware["tpus"]
    if names:
        return Check("gpu", "ok", ", ".join(names))
    if shutil.which("nvidia-smi"):
        return Check(
            "gpu", "warn", "this machine has an NVIDIA driver, but TensorFlow sees no GPU", "Install it: `pip install 'ganboard[gpu]'`."
        )
    return Check("gpu", "ok", "none: TensorFlow trains on the CPU")
