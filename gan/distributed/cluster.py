"""The processes of a run with strategy=multi_worker: who they are, and how they meet. Free of
TensorFlow.

TensorFlow joins a cluster in a call that waits for ever and holds the interpreter's lock, so that
nothing in the process could end it. Hence all processes meet here first, over TCP on the port that
the first one's TensorFlow server takes afterwards, and enter that call together.
"""

from __future__ import annotations

import json
import os
import socket
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass

from ganboard.gan.config import ConfigError
from ganboard.gan.events import TrainingFailed

# for the slowest process to load TensorFlow and the data, counted from when the first one is there
JOIN_SECONDS = 60.0
_RETRY_SECONDS = 0.1
_VARIABLE = "TF_CONFIG"
_HOSTS = "GANBOARD_RANK_HOSTS"


class NotJoined(TrainingFailed):
    """Some processes did not meet the first one in time."""


@dataclass(frozen=True)
class Cluster:
    """One process's place: the addresses "host:port" of all processes, which of them is its own,
    from 0, and the names of their hosts where there are several."""

    addresses: tuple[str, ...]
    rank: int
    hosts: tuple[str, ...] = ()

    def environment(self) -> dict[str, str]:
        """Environment for TensorFlow and `own` in a process to be started (tensorflow.org,
        "Multi-worker training": TF_CONFIG)."""
        cluster = {"worker": list(self.addresses)}
        place = json.dumps({"cluster": cluster, "task": {"type": "worker", "index": self.rank}})
        return {_VARIABLE: place, _HOSTS: ",".join(self.hosts)}

    def meet(self, seconds: float | None = None) -> None:
        """Return in all processes at about the same time. Raises NotJoined, naming who is
        missing after `seconds` (JOIN_SECONDS)."""
        seconds = JOIN_SECONDS if seconds is None else seconds
        wait = self._gather if self.rank == 0 else self._report
        if missing := wait(time.monotonic() + seconds):
            ranks = f"rank{'s' * (len(missing) > 1)} {', '.join(map(str, missing))}"
            raise NotJoined(
                f"{ranks} of {len(self.addresses)} trainer processes did not join within"
                f" {seconds:.0f} s. See the log for the reason. If this machine is short of memory"
                " or cores, clone the run with fewer replicas."
            )

    def _gather(self, deadline: float) -> list[int]:
        """The first process: wait for the others, then send them off. Returns who is missing."""
        missing = set(range(1, len(self.addresses)))
        with ExitStack() as stack:
            server = stack.enter_context(
                socket.create_server(self._first, backlog=len(self.addresses))
            )
            joined = []
            while missing:
                server.settimeout(max(deadline - time.monotonic(), 1e-3))
                try:
                    peer = stack.enter_context(server.accept()[0])
                except TimeoutError:
                    return sorted(missing)
                peer.settimeout(1)
                with suppress(OSError, ValueError):  # a stranger, or one that died just now
                    missing.discard(int(peer.recv(8)))
                    joined.append(peer)
            for peer in joined:
                with suppress(OSError):
                    peer.sendall(b"!")
        return []

    def _report(self, deadline: float) -> list[int]:
        """Any other process: report to the first one and wait for its release. Returns [0] if that
        does not happen."""
        while (left := deadline - time.monotonic()) > 0:
            with suppress(OSError), socket.create_connection(self._first, timeout=left) as server:
                server.sendall(str(self.rank).encode())
                if server.recv(1):
                    return []
            time.sleep(_RETRY_SECONDS)  # the first one is not there yet
        return [0]

    @property
    def _first(self) -> tuple[str, int]:
        host, _, port = self.addresses[0].rpartition(":")
        return host, int(port)


def own(size: int) -> Cluster:
    """This process's place among `size` processes. Raises ConfigError when it was not started as
    one of them."""
    cluster = _named()
    if cluster is None or len(cluster.addresses) != size:
        raise ConfigError(
            f"strategy=multi_worker with replicas={size} needs {size} connected processes, but"
            f" {_VARIABLE} does not list them. Start the run with `ganboard train` or `ganboard"
            " run`."
        )
    return cluster


def rank() -> int:
    """This process's rank; 0 for one that was not started as one of several."""
    cluster = _named()
    return cluster.rank if cluster else 0


def size() -> int:
    """How many processes there are; 1 for one that was not started as one of several."""
    cluster = _named()
    return len(cluster.addresses) if cluster else 1


def hosts() -> tuple[str, ...]:
    """The names of the hosts of all processes, by rank; none where there is only one host."""
    named = os.environ.get(_HOSTS, "")
    return tuple(named.split(",")) if named else ()


def _named() -> Cluster | None:
    try:
        found = json.loads(os.environ[_VARIABLE])
        cluster = Cluster(tuple(found["cluster"]["worker"]), int(found["task"]["index"]))
    except (KeyError, TypeError, ValueError):
        return None
    return cluster if cluster.rank in range(len(cluster.addresses)) else None
