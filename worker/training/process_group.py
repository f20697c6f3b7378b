"""The processes of one attempt: started together, watched together, ended together.

A process whose partner is gone may wait for it for ever, so the starter of the group ends the rest
as soon as one is gone.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import IO, Any, Self

from ganboard.gan.distributed.cluster import Cluster
from ganboard.worker.process.parent_death import environment_for_child
from ganboard.worker.process.ports import Ports

# for a process that has nothing more to do, or is about to report its own reason to end
GRACE_SECONDS = 10.0
EXIT_ERROR = 70  # EX_SOFTWARE: the process has said in the log what went wrong with it
EXIT_PARTNER = 71  # EX_OSERR: another process of the group is gone, and will say why
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

    With `places` they are some of the processes of a cluster on several machines, in the order of
    their ranks. Use it as a context in the main thread: children are tied to the thread that starts
    them. No process survives the context.
    """

    def __init__(
        self,
        command: Sequence[str],
        size: int,
        *,
        output: IO[Any] | int | None = None,
        places: Sequence[Cluster] = (),
        **variables: str,
    ) -> None:
        self._command, self._size, self._output, self._variables = (
            list(command),
            size,
            output,
            variables,
        )
        self._places = places
        self._first = places[0].rank if places else 0
        self._processes: list[subprocess.Popen[bytes]] = []
        self._ports = Ports(size if size > 1 and not places else 0)

    def __enter__(self) -> Self:
        self._ports.__enter__()
        addresses = tuple(f"127.0.0.1:{port}" for port in self._ports.numbers)
        alone = [Cluster(addresses, rank) for rank in range(len(addresses))]
        places: list[Cluster | None] = [*(self._places or alone)] or [None]
        try:
            for place in places:
                variables = place.environment() if place else {}
                environment = environment_for_child(**self._variables, **variables)
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
        self._ports.__exit__(None, None, None)

    def terminate(self) -> None:
        """Ask the first process to end; where it is rank 0, it takes the others along."""
        for process in self._processes[:1]:
            process.terminate()

    def kill(self) -> None:
        """End all processes at once; `wait` returns then."""
        for process in self._processes:
            process.kill()

    def wait(self) -> Ended:
        """Wait until rank 0, any that fails, or all have ended, then end the rest."""
        with ThreadPoolExecutor(len(self._processes)) as pool:
            waits = {
                pool.submit(process.wait): rank
                for rank, process in enumerate(self._processes, self._first)
            }
            try:
                return _decision(waits)
            finally:
                self.kill()


def _decision(waits: dict[Future[int], int]) -> Ended:
    pending = set(waits)
    decisive: list[Ended] = []
    while pending and not decisive:
        done, pending = wait(pending, return_when=FIRST_COMPLETED)
        decisive = [
            Ended(waits[one], one.result()) for one in done if one.result() or waits[one] == 0
        ]
    if not decisive:
        return Ended(min(waits.values()), 0)
    ended = min(decisive, key=lambda one: one.code)  # one that was killed takes others along
    # the others are about to end as well, perhaps for the same reason
    if ended.code == 0 or (ended.rank and ended.code > 0):
        wait(pending, timeout=GRACE_SECONDS)
    first = next((one for one, rank in waits.items() if rank == 0), None)
    succeeded = first is not None and first.done() and first.result() == 0
    return Ended(0, 0) if succeeded else ended
