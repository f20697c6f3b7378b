"""`ganboard doctor`: what this machine has, what is missing, and what to do about it."""

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


@dataclass(frozen=True)
class Check:
    """One finding; `remedy` says what to do unless all is well."""

    name: str
    status: Literal["ok", "warn", "fail"]
    text: str
    remedy: str = ""


def checks(settings: Settings) -> Iterator[Check]:
    """All findings, the quick ones first. Changes nothing but that HOME and an empty SQLite file come into being."""
    yield _python()
    yield _cpu()
    yield _memory()
    yield from _home(settings)
    yield _redis_binary(settings)
    yield from _datasets(settings)
    yield from _tensorflow()


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


def _home(settings: Settings) -> Iterator[Check]:
    try:
        home = settings.prepare_home()
    except SettingsError as error:
        yield Check("home", "fail", f"{settings.state} cannot be written", str(error))
        return
    free = shutil.disk_usage(home).free
    text = f"{home}, {free / 1e9:.1f} GB free"
    if free < DISK_BYTES:
        status: Literal["warn", "fail"] = "fail" if free < DISK_LEAST_BYTES else "warn"
        yield Check("home", status, text, "Free some space, or delete old runs: checkpoints take about 30 MB each.")
    else:
        yield Check("home", "ok", text)
    yield from _services(settings)


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
    else:
        yield Check("database", "warn", f"{where}, schema {found or 'still empty'}, not {wanted}", "Run: ganboard db upgrade")
    yield _queue(settings)
    yield _workers(engine) if found else Check("workers", "warn", "none: the database is empty", "Run: ganboard up")


def _queue(settings: Settings) -> Check:
    named = bool(settings.redis_url)
    try:
        connect(settings).close()
    except QueueUnreachable as error:
        return Check("queue", "fail" if named else "warn", "does not answer", str(error))
    return Check("queue", "ok", "the server of GANBOARD_REDIS_URL answers" if named else "the embedded Redis answers")


def _workers(engine: Engine) -> Check:
    alive = [state.worker.name for state in queries.workers(engine) if state.alive]
    if alive:
        return Check("workers", "ok", f"{len(alive)} alive: {', '.join(alive)}")
    return Check("workers", "warn", "none alive: runs wait", "Run: ganboard up (or ganboard worker)")


def _redis_binary(settings: Settings) -> Check:
    try:
        return Check("redis", "ok", redis_server.find_binary())
    except ServiceFailed as error:
        return Check("redis", "warn" if settings.redis_url else "fail", "no redis-server found", str(error))


def _datasets(settings: Settings) -> Iterator[Check]:
    for name, absent in catalog.available(settings.data).items():
        yield Check(f"data: {name}", "warn", "not here", absent) if absent else Check(f"data: {name}", "ok", "here")


def _tensorflow() -> Iterator[Check]:
    """TensorFlow and its devices, asked in a process of its own: it takes seconds to start and memory to keep."""
    install = "Install it: pip install 'ganboard[cpu]' (or ganboard[gpu])."
    try:
        asked = subprocess.run([sys.executable, "-m", "gan.hardware"], capture_output=True, text=True, timeout=TENSORFLOW_SECONDS)
    except subprocess.TimeoutExpired:
        yield Check("tensorflow", "fail", f"did not start within {TENSORFLOW_SECONDS:.0f} s", "Try: python -m gan.hardware")
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
            "gpu", "warn", "this machine has an NVIDIA driver, but TensorFlow sees no GPU", "Install it: pip install 'ganboard[gpu]'."
        )
    return Check("gpu", "ok", "none: TensorFlow trains on the CPU")
