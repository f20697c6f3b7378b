"""The compilers for devices that are not here, in a virtual environment of their own: JAX with its
compilers for TPU and GPU. Nothing of it enters the environments of the web or of a worker."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from filelock import FileLock

from ganboard.db.settings import Settings
from ganboard.worker.errors import ServiceFailed

LOCK = Path(__file__).with_name("compilers.lock")
INSTALLED_BYTES = 1_900_000_000  # measured: 1.8 GB
_SPARE_BYTES = 1_500_000_000  # for downloads, which are as large, and compiled programs
_INSTALLATION = (
    "Installing the compilers for TPU and GPU (JAX, libtpu, XLA's CUDA plugin) into {folder}: about"
    " 0.7 GB to download and 1.8 GB on disk, a minute on a fast network. libtpu comes under Google"
    " Cloud's terms of service."
)


def folder(settings: Settings) -> Path:
    """Where rehearsals keep the environment and what was compiled."""
    return settings.state / "rehearsal"


def python(settings: Settings, say: Callable[[str], None]) -> Path:
    """The interpreter of the environment, which is made first where there is none.

    `say` gets a sentence before an installation. Raises ServiceFailed without TensorFlow, disk or
    network.
    """
    if find_spec("tensorflow") is None:
        raise ServiceFailed(
            "TensorFlow, which lowers the training step, is not installed here: run the command"
            " where runs are trained, with Docker Compose in the service `worker`."
        )
    root = folder(settings)
    environment = root / f"environment-{_digest()}"
    interpreter, ready = environment / "bin" / "python", environment / "ready"
    if ready.exists():
        return interpreter
    settings.prepare_home()
    root.mkdir(exist_ok=True)
    with FileLock(root / "environment.lock"):
        if ready.exists():  # another process has made it meanwhile
            return interpreter
        _check_disk(root)
        say(_INSTALLATION.format(folder=environment))
        for former in root.glob("environment-*"):
            shutil.rmtree(former, ignore_errors=True)
        _install(environment)
        ready.touch()
    return interpreter


def _digest() -> str:
    """Of the locked packages and of Python, for which they are built."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return hashlib.sha256(LOCK.read_bytes() + version.encode()).hexdigest()[:12]


def _check_disk(root: Path) -> None:
    free = shutil.disk_usage(root).free
    needed = INSTALLED_BYTES + _SPARE_BYTES
    if free < needed:
        raise ServiceFailed(
            f"{root} has {free / 1e9:.1f} GB free and the compilers need {needed / 1e9:.1f} GB:"
            " free some disk space or set GANBOARD_HOME to another disk."
        )


def _install(environment: Path) -> None:
    """uv takes a sixth of pip's time; where it is absent or cannot reach an index that pip is
    configured for, pip does the same."""
    interpreter = str(environment / "bin" / "python")
    locked = ["--require-hashes", "-r", str(LOCK)]
    uv, pip = Path(sys.executable).with_name("uv"), [interpreter, "-m", "pip"]
    run = partial(_run, temporary=environment / "tmp")
    made = run([sys.executable, "-m", "venv", str(environment)])
    if made is None and not (
        uv.exists() and run([str(uv), "pip", "install", "--python", interpreter, *locked]) is None
    ):
        made = run([*pip, "install", "--disable-pip-version-check", *locked])
    shutil.rmtree(environment / "tmp", ignore_errors=True)
    if made is not None:
        shutil.rmtree(environment, ignore_errors=True)
        raise ServiceFailed(
            f"The compilers could not be installed ({made}). Check the network, pip's index and"
            f" free space below {environment.parent}, then run the command again."
        )


def _run(command: list[str], temporary: Path) -> str | None:
    """None, or the last line that a failed command wrote. Downloads go to `temporary`, since /tmp
    may be a small part of memory, as in a container."""
    temporary.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "TMPDIR": str(temporary)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode == 0:
        return None
    said = (done.stderr.strip() or done.stdout.strip()).splitlines()
    return (said or [f"exit code {done.returncode}"])[-1].strip()[:200].rstrip(".")
