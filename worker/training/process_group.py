"""The processes of one attempt: started together, watched together, ended together.

A process whose partner is gone may wait for it for ever, so the starter of the group ends the rest
as soon as one is gone.
"""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import IO, Any, Self

from ganboard.gan.distributed.cluster import Cluster
from ganboard.worker.process.parent_death import environment_for_child

# for a process that has nothing more to do, or is about to report its own reason to end
GRACE_SECONDS = 10.0
EXIT_ERROR = 70  # EX_SOFTWARE: the process has said in the log what went wrong with it
EXIT_HANGS = 74  # EX_IOERR: no step ended any more, and the process ended itself


@dataclass(frozen=True)
class Ended:
    """The process that decided how the group ended, and its exit code (negative: the signal that
    killed it)."""

    rank: int
    code: int


class ProcessGroup:
    """`size` processes of one command, tied to this one; more than one know each other by
    TF_CONFIG. The first, rank 0, is in charge.

    Use it as a context in the main thread: children are tied to the thread that starts them. No
    process survives the context.
    """

    def __init__(
        self,
        command: Sequence[str],
        size: int,
        *,
        output: IO[Any] | int | None = None,
        **variables: str,
    ) -> None:
        self._command, self._size, self._output, self._variables = (
            list(command),
            size,
            output,
            variables,
        )
        self._processes: list[subprocess.Popen[bytes]] = []
        self._ports: list[socket.socket] = []

    def __enter__(self) -> Self:
        self._ports = [_hold_port() for _ in range(self._size if self._size > 1 else 0)]
        addresses = tuple(f"127.0.0.1:{port.getsockname()[1]}" for port in self._ports)
        try:
            for rank in range(self._size):
                place = Cluster(addresses, rank).environment() if addresses else {}
                environment = environment_for_child(**self._variables, **place)
                self._processes.append(
                    subprocess.Popen(
                        self._command,
                        stdout=self._output,
                        stderr=subprocess.STDOUT,
                        env=environment,
                    )
                )
        except OSError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        for process in self._processes:
            process.wait()
        for port in self._ports:
            port.close()

    def terminate(self) -> None:
        """Ask the first process to end; it takes the others along."""
        for process in self._processes[:1]:
            process.terminate()

    def kill(self) -> None:
        """End all processes at once; `wait` returns then."""
        for process in self._processes:
            process.kill()

    def wait(self) -> Ended:
        """Wait until the first process or any that fails has ended, then end the rest."""
        with ThreadPoolExecutor(self._size) as pool:
            waits = {
                pool.submit(process.wait): rank for rank, process in enumerate(self._processes)
            }
            try:
                return _decision(waits)
            finally:
                self.kill()


def _decision(waits: dict[Future[int], int]) -> Ended:
    pending = set(waits)
    while True:
        done, pending = wait(pending, return_when=FIRST_COMPLETED)
        failed = [
            Ended(waits[one], one.result()) for one in done if one.result() or waits[one] == 0
        ]
        if failed:
            break
    ended = min(failed, key=lambda one: one.code)  # one that was killed takes others along
    # the others are about to end as well, perhaps for the same reason
    if ended.code == 0 or (ended.rank and ended.code > 0):
        wait(pending, timeout=GRACE_SECONDS)
    first = next(one for one, rank in waits.items() if rank == 0)
    return Ended(0, 0) if first.done() and first.result() == 0 else ended


def _hold_port() -> socket.socket:
    """A free port that no other process is given while the returned socket is open, but that a
    server of ours may still take.

    Linux lets a second socket bind to an address if both allow its reuse and neither listens; no
    process is given a bound port by chance.
    """
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("", 0))
    return held
