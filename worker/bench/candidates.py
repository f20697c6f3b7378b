"""The candidates of `ganboard bench`, as processes that run training steps on request
(`gan.bench.protocol`)."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ganboard import gan
from ganboard.gan.bench.protocol import Task
from ganboard.gan.config import ConfigError
from ganboard.gan.distributed.cluster import Cluster
from ganboard.gan.settings import registry
from ganboard.worker.errors import WorkerError
from ganboard.worker.process.parent_death import environment_for_child

REPLY_SECONDS = 900.0  # a first step may wait minutes for a compiler
PRECISIONS = ("float32", "mixed_bfloat16")
_MIRRORED = {"strategy": "mirrored", "replicas": 2}
_WORKERS = {"strategy": "multi_worker", "replicas": 2}
_LOCAL_SGD = {**_WORKERS, "sync_batch_norm": False, "average_every": 16}


class BenchmarkError(WorkerError):
    """A candidate that cannot take part, or no longer; the message says why."""


@dataclass(frozen=True)
class Candidate:
    """Something that takes training steps, or what is measured in the manner of one."""

    name: str
    title: str
    module: str = ""  # of gan.bench
    form: str = ""
    # to the settings of our trainer
    changes: Mapping[str, Any] = field(default_factory=dict, hash=False)
    peer: bool = False  # runs in the Python of --peer-python
    every_precision: bool = True  # otherwise only the first one requested
    precision: str = ""

    @property
    def label(self) -> str:
        return f"{self.name} {self.precision}"

    def plays(self, model: str) -> bool:
        """Whether it trains that model: others have the networks of some, ours train each that
        reads their settings."""
        known = registry.get(model)
        return self.changes.keys() <= known.config.model_fields.keys() and (
            self.module in ("ours", "") or self.module in known.spec.benchmark.peers
        )

    def program(self, model: str) -> str:
        """The module that trains that model."""
        own = f"ganboard.gan.bench.{self.module}"
        return registry.get(model).spec.benchmark.peers.get(self.module, own)

    @property
    def steps_together(self) -> int:
        """Steps after which its processes have done all that such steps cost."""
        return int(self.changes.get("average_every", 1))

    @property
    def processes(self) -> int:
        return (
            int(self.changes["replicas"]) if self.changes.get("strategy") == "multi_worker" else 1
        )


CANDIDATES = (
    Candidate("bare", "ganboard's trainer alone", "ours"),
    Candidate(
        "platform", "ganboard through queue, database, grids, checkpoints", every_precision=False
    ),
    Candidate("xla", "ganboard with XLA", "ours", changes={"xla": True}),
    Candidate("hash", "ganboard with hashed random numbers", "ours", changes={"rng": "hash"}),
    Candidate(
        "fit", "ganboard with Keras fit", "ours", changes={"loop": "fit"}, every_precision=False
    ),
    Candidate("replicas", "ganboard, 2 replicas", "ours", changes=_MIRRORED, every_precision=False),
    Candidate(
        "workers", "ganboard, 2 worker processes", "ours", changes=_WORKERS, every_precision=False
    ),
    Candidate(
        "local-sgd",
        "ganboard, local SGD in 2 processes",
        "ours",
        changes=_LOCAL_SGD,
        every_precision=False,
    ),
    Candidate(
        "recompute",
        "ganboard, activations computed again",
        "ours",
        changes={"recompute": True},
        every_precision=False,
    ),
    Candidate("start", "ganboard from process start to first step", "ours", every_precision=False),
    Candidate("tutorial", "TensorFlow's tutorial loop", "tutorial"),
    Candidate("pytorch-eager", "PyTorch", "pytorch", "eager", peer=True),
    Candidate(
        "pytorch-channels-last", "PyTorch, channels_last", "pytorch", "channels_last", peer=True
    ),
    Candidate(
        "pytorch-compiled", "PyTorch, channels_last, compiled", "pytorch", "compiled", peer=True
    ),
    Candidate("jax", "JAX, jitted", "jax", peer=True),
    Candidate("floor", "The convolutions and products alone", "floor"),
)
GROUPS = {
    "ganboard": (
        *("bare", "platform", "xla", "hash", "fit"),
        *("replicas", "workers", "local-sgd", "recompute", "start"),
    ),
    "pytorch": ("pytorch-eager", "pytorch-channels-last", "pytorch-compiled"),
}


def has_peers(model: str) -> bool:
    """Whether other loops train it too."""
    return bool(registry.get(model).spec.benchmark.peers)


def model_of_peers() -> str:
    """The model that other frameworks train too, on images that they are given."""
    return next(
        name for name, model in registry.models().items() if "pytorch" in model.spec.benchmark.peers
    )


def choose(only: Sequence[str], precisions: Sequence[str], model: str) -> list[Candidate]:
    """The candidates named, without names all that train `model`, in each precision where that
    makes sense. Raises ConfigError."""
    names = [candidate.name for candidate in CANDIDATES]
    for name in only:
        if name not in names and name not in GROUPS:
            raise ConfigError(
                f"{name[:80]!r} is not a candidate. Choose from {', '.join([*names, *GROUPS])}."
            )
    for precision in precisions:
        if precision not in PRECISIONS:
            raise ConfigError(
                f"precision={precision[:80]} is invalid. Choose from {' and '.join(PRECISIONS)}."
            )
    plays = [candidate.name for candidate in CANDIDATES if candidate.plays(model)]
    for name in only:
        if not set(GROUPS.get(name, (name,))) & set(plays):
            raise ConfigError(
                f"{name} does not support model={model}. Choose from {', '.join(plays)}."
            )
    wanted = {each for name in only for each in GROUPS.get(name, (name,)) if each in plays} or set(
        plays
    )
    unique = list(dict.fromkeys(precisions))
    return [
        replace(candidate, precision=precision)
        for precision in unique
        for candidate in CANDIDATES
        if candidate.name in wanted and (candidate.every_precision or precision == unique[0])
    ]


class Running:
    """The processes of one candidate; they sleep between turns."""

    def __init__(self, candidate: Candidate, task: Task, python: str, scratch: Path) -> None:
        """Start them; `scratch` is a directory for their logs, in which `gan` can be found."""
        self.warm = False
        self._log = scratch / f"{candidate.label.replace(' ', '-')}.log"
        self._processes = []
        environment = environment_for_child(
            TF_CPP_MIN_LOG_LEVEL="2",
            TF_FORCE_GPU_ALLOW_GROWTH="true",  # candidates share the accelerator's memory
            XLA_PYTHON_CLIENT_PREALLOCATE="false",
        )
        if candidate.peer:
            environment["PYTHONPATH"] = os.pathsep.join(
                [str(scratch), *filter(None, [os.environ.get("PYTHONPATH")])]
            )
        command = [
            sys.executable,
            "-m",
            "ganboard.worker.process.exec_tied",
            python if candidate.peer else sys.executable,
        ]
        command += ["-m", "ganboard.gan.bench", candidate.module, task.encode()]
        self._began = time.monotonic()
        addresses = _addresses(candidate.processes)
        with self._log.open("wb") as log:
            for rank in range(candidate.processes):
                place = Cluster(addresses, rank).environment() if addresses else {}
                self._processes.append(
                    subprocess.Popen(
                        command,
                        stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE,
                        stderr=log,
                        bufsize=0,  # so that select sees every answer
                        env={**environment, **place},
                        start_new_session=True,  # a Ctrl-C must reach the driver alone
                    )
                )

    def first_step(self) -> float:
        """Seconds from the start of the processes to the losses of the first step. Raises
        BenchmarkError, as all that follow."""
        self._replies()
        return time.monotonic() - self._began

    def warm_up(self) -> str:
        """Wait until it is ready; returns the versions of what it is made with."""
        self.warm = True
        return str(self._replies()[0]["version"])

    def take(self, steps: int) -> tuple[float, int]:
        """Seconds that `steps` steps take, and the peak memory of all its processes in bytes."""
        for process in self._processes:
            assert process.stdin is not None
            try:
                process.stdin.write(b"%d\n" % steps)
            except BrokenPipeError:
                raise BenchmarkError(self._why(process)) from None
        replies = self._replies()
        return max(reply["seconds"] for reply in replies), sum(
            reply["memory_bytes"] for reply in replies
        )

    def end(self) -> None:
        """Nothing is worth saving."""
        for process in self._processes:
            process.kill()
            process.communicate()

    def _replies(self) -> list[dict[str, Any]]:
        found = []
        for process in self._processes:
            assert process.stdout is not None
            if not select.select([process.stdout], [], [], REPLY_SECONDS)[0]:
                raise BenchmarkError(f"no answer within {REPLY_SECONDS:.0f} s")
            line = process.stdout.readline()
            if not line:
                raise BenchmarkError(self._why(process))
            found.append(json.loads(line))
            if reason := found[-1].get("unavailable"):
                raise BenchmarkError(reason)
        return found

    def _why(self, process: subprocess.Popen[bytes]) -> str:
        code = process.wait()
        if code < 0:
            return f"failed: ended by {signal.Signals(-code).name}" + (
                ", as when memory runs out" if code == -signal.SIGKILL else ""
            )
        said = [line for line in self._log.read_text(errors="replace").splitlines() if line.strip()]
        return f"failed: {said[-1].strip()[:300] if said else f'exit code {code}'}"


def peers_find_gan(scratch: Path) -> None:
    """Let another Python import `gan` from `scratch` and nothing else that is installed for this
    one."""
    (scratch / "ganboard").mkdir()
    (scratch / "ganboard" / "gan").symlink_to(Path(gan.__file__).parent.resolve())


def _addresses(processes: int) -> tuple[str, ...]:
    """Where the processes of a cluster find each other; none for a single one."""
    probes = [
        socket.create_server(("127.0.0.1", 0)) for _ in range(processes if processes > 1 else 0)
    ]
    addresses = tuple(f"127.0.0.1:{probe.getsockname()[1]}" for probe in probes)
    for probe in probes:
        probe.close()
    return addresses
