"""The trainer processes of an attempt on this machine: started, waited for, and why they ended."""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import IO, Any, NamedTuple

from ganboard.db.errors import LeaseLost
from ganboard.db.models import Member
from ganboard.db.placement import groups
from ganboard.db.runs import commands
from ganboard.db.runs.commands import MAX_FAILURES, Claim
from ganboard.db.settings import SettingsError
from ganboard.gan.devices import hardware
from ganboard.gan.distributed.cluster import Cluster
from ganboard.gan.events import ControlSignal
from ganboard.worker.context import Context
from ganboard.worker.queue.interrupts import Interrupt
from ganboard.worker.training import worker_group
from ganboard.worker.training.process_group import (
    EXIT_ERROR,
    EXIT_HANGS,
    EXIT_PARTNER,
    Ended,
    ProcessGroup,
)
from ganboard.worker.training.start import MAX_LATE, TOO_LATE, Start
from ganboard.worker.training.worker_group import Incomplete, Unreached, Watch

TRAINER = (sys.executable, "-m", "ganboard.worker.training.trainer")


class Ending(NamedTuple):
    """What the database is to say: a status, or that the attempt died of a cause."""

    status: str = ""
    error: str | None = None
    cause: str = ""
    because: str = ""  # why it is suspended, unless because its worker shuts down
    limit: int = MAX_FAILURES  # deaths in a row, of which the last fails the run


class Trainers:
    """The trainer processes of an attempt on this machine."""

    def __init__(
        self,
        context: Context,
        claim: Claim,
        log: IO[str],
        interrupt: Interrupt,
        verdict: ControlSignal,
    ) -> None:
        self._context, self._claim, self._ranks = context, claim, ranks(claim.config)
        self._log, self._interrupt, self._verdict = log, interrupt, verdict
        self._kills = hardware.oom_kills()

    def train(self, places: Sequence[Cluster] = (), member: Member | None = None) -> Ending:
        """Run the processes, of which the first is rank 0, until they end."""
        engine = self._context.engine
        watch: Watch | None = None
        with self._processes(places) as group, ExitStack() as stack:
            if member is not None:
                watch = Watch(
                    engine,
                    member,
                    end=group.kill,
                    leave=group.terminate,
                    shuts_down=lambda: self._interrupt.came,
                )
                stack.enter_context(watch)
            start = stack.enter_context(Start(engine, self._claim, group.kill))
            ended = group.wait()
        if self._interrupt.came:
            return Ending("stopped" if self._verdict == "stop" else "suspended")
        if start.outcome == "stop":
            return Ending("stopped")
        if start.outcome == "late":
            return Ending(cause=TOO_LATE, limit=MAX_LATE)
        trouble = watch.trouble if watch else None
        if member is not None and trouble is None and ended.code == EXIT_PARTNER:
            with suppress(LeaseLost):
                trouble = worker_group.cause_elsewhere(engine, member)
        if trouble is not None and trouble.final:
            return Ending("failed", trouble.failure)
        if trouble is not None:
            if worker_group.apart(engine, groups.members(engine, self._claim.run_id)):
                return Ending("suspended", because=str(trouble.failure))
            return Ending(cause=str(trouble.failure))
        if watch and watch.leaving:
            return Ending("suspended")
        return self._death(ended)

    def lead(self, member: Member) -> Ending:
        """As `train`, once the other machines of the group are ready."""
        claim = self._claim
        engine = self._context.engine
        stop = False

        def renew() -> None:
            nonlocal stop
            stop = commands.renew(
                engine,
                run_id=claim.run_id,
                attempt=claim.attempt,
                lease_seconds=commands.START_LEASE_SECONDS,
            )
            if stop or self._interrupt.came:
                raise Incomplete("it was stopped")

        try:
            with self._gathered(member, renew) as places:
                return self.train(places, member)
        except Unreached as error:
            return Ending("suspended", because=str(error))
        except Incomplete as error:
            if self._interrupt.came or stop:
                suspend = self._interrupt.came and self._verdict == "suspend"
                return Ending("suspended" if suspend else "stopped")
            return Ending("failed", str(error)) if error.final else Ending(cause=str(error))
        except SettingsError as error:
            return Ending("failed", on_machine(member, str(error)))
        except LeaseLost:
            return Ending(cause="Another attempt has taken over")  # and nothing is written

    def follow(self, member: Member) -> str | None:
        """Run the processes, none of which is rank 0; how they ended if it was their own doing."""
        engine = self._context.engine

        def until_leader_ends() -> None:
            """The leader ends the attempt, which ends this machine's part."""

        with (
            self._gathered(member, until_leader_ends) as places,
            self._processes(places, {worker_group.MEMBER: str(member.index)}) as group,
            Watch(
                engine,
                member,
                end=group.kill,
                leave=until_leader_ends,
                shuts_down=lambda: self._interrupt.came,
            ),
        ):
            ended = group.wait()
        # with EXIT_ERROR the trainer has reported its failure itself
        return None if ended.code in (0, EXIT_PARTNER, EXIT_ERROR) else self._death(ended).cause

    def _gathered(self, member: Member, each_round: Any) -> Any:
        context = self._context
        return worker_group.gathered(
            context.engine, context.settings, member, self._ranks, each_round
        )

    @contextmanager
    def _processes(
        self, places: Sequence[Cluster], more: Mapping[str, str] | None = None
    ) -> Iterator[ProcessGroup]:
        claim, interrupt = self._claim, self._interrupt
        command = [*TRAINER, claim.run_id, str(claim.attempt), self._verdict]
        variables = {
            "PYTHONUNBUFFERED": "1",
            "TF_CPP_MIN_LOG_LEVEL": os.environ.get("TF_CPP_MIN_LOG_LEVEL", "2"),
            **(more or {}),
        }
        with ProcessGroup(
            command, self._ranks, output=self._log, places=places, **variables
        ) as group:
            interrupt.group = group
            if interrupt.came:  # the signal came while the trainer was being started
                group.terminate()
            yield group
            interrupt.group = None

    def _death(self, ended: Ended) -> Ending:
        size = int(self._claim.config["replicas"]) if _several(self._claim.config) else 1
        cause, limit = death(ended, size, memory_ran_out=hardware.oom_kills() > self._kills)
        return Ending(cause=cause, limit=limit)


def death(ended: Ended, size: int, *, memory_ran_out: bool) -> tuple[str, int]:
    """Why one of `size` trainer processes ended, and how many such ends in a row are one too many:
    errors that need manual repair are not retried for long."""
    who = "The trainer" if size == 1 else f"Rank {ended.rank} of {size} trainer processes"
    if ended.code == -signal.SIGKILL and memory_ran_out:
        had = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
        limit = hardware.memory_limit() / 2**30
        text = (
            f"{who} was killed because memory ran out (it used {had:.1f} of {limit:.1f} GiB)."
            " Clone the run with a smaller batch_size"
        )
        return text, 3
    if ended.code == EXIT_HANGS:
        return f"{who} exited because training stalled (stall_seconds)", 2
    if ended.code == EXIT_PARTNER:
        return f"{who} lost its connection to another one", MAX_FAILURES
    if ended.code < 0:
        return f"{who} was killed by {signal.Signals(-ended.code).name}", MAX_FAILURES
    return f"{who} ended with exit code {ended.code}", MAX_FAILURES


def _several(config: Mapping[str, Any]) -> bool:
    return config.get("strategy") == "multi_worker"


def ranks(config: Mapping[str, Any]) -> int:
    """Trainer processes on this machine."""
    return int(config["replicas"]) // int(config.get("hosts") or 1) if _several(config) else 1


def on_machine(member: Member, text: str) -> str:
    return f"{worker_group.place(member)}: {text}"
