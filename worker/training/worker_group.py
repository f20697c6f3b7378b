"""A machine's part in an attempt that several machines train: it reserves ports, waits for the
others, starts its ranks, and from then on says that it is alive and hears what became of the
others.

All of this goes through the database, so that it also works where no packet passes between two of
the machines.
"""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Self

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from ganboard.db.errors import LeaseLost
from ganboard.db.models import Member
from ganboard.db.placement import groups, links
from ganboard.db.settings import Settings
from ganboard.gan.distributed.cluster import Cluster
from ganboard.worker.process.ports import Ports

log = logging.getLogger("ganboard.worker")

GATHER_SECONDS = 60.0  # for all machines to notice that they are members
POLL_SECONDS = 1.0
REACH_SECONDS = 8.0  # time for three SYN packets, of which a bad link may lose some
# a lease that ran out while the database was away is renewed within this time
SILENT_SECONDS = 5.0
CAUSE_SECONDS = groups.LEASE_SECONDS + SILENT_SECONDS  # after which a lost machine is known to be
MEMBER = "GANBOARD_MEMBER"  # of a trainer: its machine's index


class Incomplete(Exception):
    """The group did not come together; the message says why, `final` whether the next one would
    fail alike."""

    def __init__(self, sentence: str, *, final: bool = False) -> None:
        super().__init__(sentence)
        self.final = final


class Unreached(Incomplete):
    """A machine does not reach another one; the next group will not have both."""


def place(member: Member) -> str:
    """A member, in words."""
    return f"{member.host} ({member.machine})"


@contextmanager
def gathered(
    engine: Engine, settings: Settings, member: Member, ranks: int, each_round: Callable[[], None]
) -> Iterator[list[Cluster]]:
    """The places of this machine's ranks, once all machines have reserved their ports.

    `each_round` is called once a second and may raise. Raises Incomplete, Unreached when a machine
    does not reach another one, LeaseLost when the attempt is over, and SettingsError when too few
    ports are free.
    """
    with Ports(ranks, settings.port_range) as ports:
        groups.report(engine, member, ports=ports.numbers)
        deadline = time.monotonic() + GATHER_SECONDS
        while True:
            members = groups.members(engine, member.run_id)
            if failed := next((one for one in members if one.failure), None):
                if apart(engine, members):
                    raise Unreached(str(failed.failure))
                raise Incomplete(str(failed.failure), final=failed.final)
            if members and all(one.ports for one in members):
                break
            if time.monotonic() > deadline:
                missing = ", ".join(place(one) for one in members if not one.ports)
                raise Incomplete(f"{missing} did not start its part within {GATHER_SECONDS:.0f} s")
            each_round()
            groups.report(engine, member)
            time.sleep(POLL_SECONDS)
        for other in members:
            if other.index != member.index:
                _reach(engine, member, other)
                each_round()
        addresses = tuple(f"{one.address}:{port}" for one in members for port in one.ports)
        hosts = tuple(one.host for one in members for _ in one.ports)
        first = sum(len(one.ports) for one in members[: member.index])
        yield [Cluster(addresses, rank, hosts) for rank in range(first, first + ranks)]


def _reach(engine: Engine, member: Member, other: Member) -> None:
    """Make sure that packets pass between two machines. Raises Unreached, which all machines of
    the group hear of."""
    groups.report(engine, member)
    where = (other.address, other.ports[0])
    try:
        socket.create_connection(where, REACH_SECONDS).close()
    except ConnectionRefusedError:
        pass  # an answer: the port is reserved, and nobody listens yet
    except OSError as error:
        why = error.strerror or "no answer"
        sentence = f"{place(member)} does not reach {place(other)} at {where[0]}:{where[1]} ({why})"
        links.broke(engine, member.address, other.address)
        groups.report(engine, member, failure=sentence)
        raise Unreached(sentence) from None


def apart(engine: Engine, members: Sequence[Member]) -> bool:
    """Whether two of these machines do not reach each other."""
    addresses = {one.address for one in members}
    return any(link <= addresses for link in links.broken(engine))


class Watch(threading.Thread):
    """Renews the lease of a member; the leader's also watches the others.

    Calls `end` when the attempt is over, and in the leader when another machine has failed or is
    lost (`trouble`). `leave` is called in the leader when another machine shuts down (`leaving`).
    Use it as a context while the ranks run.
    """

    def __init__(
        self,
        engine: Engine,
        member: Member,
        *,
        end: Callable[[], None],
        leave: Callable[[], None],
        shuts_down: Callable[[], bool],
    ) -> None:
        super().__init__(name="worker group", daemon=True)
        self._engine, self._member = engine, member
        self._end, self._leave, self._shuts_down = end, leave, shuts_down
        self._over = threading.Event()
        self._silent: dict[int, float] = {}  # since when the lease of a member has run out
        self.trouble: Member | None = None
        self.leaving: Member | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.join()

    def run(self) -> None:
        while not self._over.is_set():
            try:
                groups.report(self._engine, self._member, leaving=self._shuts_down())
                if self._member.index == 0:
                    self._look()
            except LeaseLost:
                self._end()
                return
            except SQLAlchemyError as error:
                log.warning("Group not renewed: %s", str(error).splitlines()[0])
                self._silent.clear()
            if self.trouble is not None:
                self._end()
                return
            self._over.wait(POLL_SECONDS)

    def _look(self) -> None:
        """What became of the other members."""
        run_id = self._member.run_id
        others = groups.members(self._engine, run_id)[1:]
        self.trouble = next((one for one in others if one.failure), None)
        if self.leaving is None and (leaving := next((one for one in others if one.leaving), None)):
            self.leaving = leaving
            self._leave()
        silent = {one.index: one for one in groups.lost(self._engine, run_id) if one.index}
        since = {index: self._silent.get(index, time.monotonic()) for index in silent}
        self._silent = since
        for index, member in silent.items():
            if self.trouble is None and time.monotonic() - since[index] >= SILENT_SECONDS:
                member.failure = f"No heartbeat from {place(member)} any more"
                self.trouble = member


def cause_elsewhere(engine: Engine, member: Member) -> Member | None:
    """The member whose end ended this one's ranks: waits until it has reported, or its lease has
    run out. None if none of them is to blame."""
    deadline = time.monotonic() + CAUSE_SECONDS
    while time.monotonic() < deadline:
        groups.report(engine, member)
        others = [one for one in groups.members(engine, member.run_id) if one.index != member.index]
        if failed := next((one for one in others if one.failure), None):
            return failed
        if silent := [one for one in groups.lost(engine, member.run_id) if one in others]:
            silent[0].failure = f"No heartbeat from {place(silent[0])} any more"
            return silent[0]
        time.sleep(POLL_SECONDS)
    return None
