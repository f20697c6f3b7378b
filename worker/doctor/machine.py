"""What this process sees of its machine: Python, processor, memory, disk, Redis's program,
TensorFlow and its devices."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from ganboard.db.settings import Settings, SettingsError
from ganboard.gan.devices import capabilities
from ganboard.gan.devices.hardware import cpu_flags
from ganboard.worker.doctor import files
from ganboard.worker.doctor.check import Check, Status
from ganboard.worker.errors import ServiceFailed
from ganboard.worker.process import machine, redis_server

PYTHON = ((3, 11), (3, 14))  # from, below
MEMORY_BYTES = 2e9  # a DCGAN trainer at batch 64 stays below, TensorFlow included
DISK_BYTES, DISK_LEAST_BYTES = 2e9, 2e8
TENSORFLOW_SECONDS = 120.0


def python() -> Check:
    text = (
        f"Python {platform.python_version()} on {platform.platform(terse=True)},"
        f" {platform.machine()}"
    )
    if PYTHON[0] <= sys.version_info[:2] < PYTHON[1]:
        return Check("python", "ok", text)
    return Check("python", "fail", text, "Use Python 3.11, 3.12 or 3.13.")


def cpu() -> Check:
    flags = ", ".join(cpu_flags()) or "no AVX2"
    return Check("cpu", "ok", f"{psutil.cpu_count()} cores, {flags}")


def memory() -> Check:
    memory = psutil.virtual_memory()
    text = f"{memory.available / 1e9:.1f} GB free of {memory.total / 1e9:.1f} GB"
    if memory.available < MEMORY_BYTES:
        return Check(
            "memory",
            "warn",
            text,
            f"A trainer needs up to {MEMORY_BYTES / 1e9:.0f} GB. Close other programs.",
        )
    return Check("memory", "ok", text)


def home(settings: Settings) -> Check:
    if not settings.state.exists() and _can_be_made(settings.state):
        remedy = "`ganboard up` creates it. If it should exist, set GANBOARD_HOME to its path."
        return Check("home", "warn", f"{settings.state} does not exist", remedy)
    before = files.mode(settings) if settings.state.is_dir() else None
    try:
        home = settings.prepare_home()
    except SettingsError as error:
        return Check("home", "fail", f"{settings.state} cannot be written", str(error))
    free = shutil.disk_usage(home).free
    text = f"{home}, {free / 1e9:.1f} GB free"
    if before is not None and files.mode(settings) != before:
        text += (
            f"; it was accessible to other users (mode {before:o}) and is now restricted to its"
            " owner"
        )
    if free < DISK_BYTES:
        status: Status = "fail" if free < DISK_LEAST_BYTES else "warn"
        return Check(
            "home",
            status,
            text,
            "Free some space, or delete old runs: checkpoints take about 30 MB each, snapshots of"
            " their paths 5 MB.",
        )
    return Check("home", "ok", text)


def _can_be_made(path: Path) -> bool:
    parent = next(parent for parent in path.parents if parent.exists())
    return parent.is_dir() and os.access(parent, os.W_OK | os.X_OK)


def identity(settings: Settings) -> Check:
    """The name that checkpoints and workers carry in the database."""
    try:
        name = machine.recorded(settings)
    except OSError as error:
        return Check(
            "machine",
            "warn",
            f"{settings.state / machine.FILE} cannot be read ({error.strerror})",
            "Check that disk.",
        )
    return Check("machine", "ok", name or "named when its first worker or training starts")


def redis_binary(settings: Settings) -> Check:
    try:
        return Check("redis", "ok", redis_server.find_binary())
    except ServiceFailed as error:
        if settings.redis_url:
            return Check(
                "redis", "ok", "no redis-server found; not needed, since GANBOARD_REDIS_URL is set"
            )
        return Check("redis", "fail", "no redis-server found", str(error))


def tensorflow() -> Iterator[Check]:
    """TensorFlow and its devices, queried in a separate process, since loading it takes seconds and
    memory."""
    install = "Install it: `pip install 'ganboard[cpu]'` (or `ganboard[gpu]`)."
    try:
        asked = subprocess.run(
            [sys.executable, "-m", "ganboard.gan.devices.probe"],
            capture_output=True,
            text=True,
            timeout=TENSORFLOW_SECONDS,
        )
    except subprocess.TimeoutExpired:
        yield Check(
            "tensorflow",
            "fail",
            f"did not start within {TENSORFLOW_SECONDS:.0f} s",
            "Try: `python -m ganboard.gan.devices.probe`",
        )
        return
    if asked.returncode:
        last = (asked.stderr.strip().splitlines() or [f"exit code {asked.returncode}"])[-1]
        yield Check("tensorflow", "fail", last[:300], install)
        return
    hardware: dict[str, Any] = json.loads(asked.stdout.splitlines()[-1])
    versions = hardware["versions"]
    yield Check(
        "tensorflow",
        "ok",
        f"TensorFlow {versions.get('tensorflow')}, Keras {versions.get('keras')}",
    )
    yield _accelerators(hardware)


def _accelerators(hardware: dict[str, Any]) -> Check:
    names = [gpu["name"] for gpu in hardware["gpus"]] + hardware["tpus"]
    if names:
        return Check("gpu", "ok", ", ".join(names))
    if shutil.which("nvidia-smi"):
        return Check(
            "gpu",
            "warn",
            "this machine has an NVIDIA driver, but TensorFlow finds no GPU",
            "Install it: `pip install 'ganboard[gpu]'`.",
        )
    rates = hardware["cpu_rates"]
    share = rates["mixed_bfloat16"] / rates["float32"]
    faster = "float32" if capabilities.bfloat16_is_slow(hardware) else "mixed_bfloat16"
    return Check(
        "gpu",
        "ok",
        "none: TensorFlow trains on the CPU, which multiplies bfloat16 at"
        f" {share:.2f} times its float32 rate: {faster} is faster here",
    )
