"""Worker groups: which machines can train a run with hosts > 1 together.

Each machine takes part with one worker, the first of its free ones by name, so that all machines
see the same groups.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

from ganboard.db import clock, heartbeats
from ganboard.db.engine import reading
from ganboard.db.models import Run, Worker
from ganboard.db.placement import draining, groups, links
from ganboard.db.placement.groups import Place
from ganboard.db.placement.links import Link
from ganboard.gan.config import parse
from ganboard.worker.context import Context
from ganboard.worker.placement.machines import can, has, offer, terms
from ganboard.worker.process.ports import LOOPBACK


def hosts(run: Run) -> int:
    """On how many machines a run trains."""
    return int(run.config.get("hosts") or 1)


def group(context: Context, run: Run, worker: str) -> list[Place]:
    """The machines that train a run now, led by this worker's; none while too few are free. With
    on_lost_host=shrink they may be fewer than it wants."""
    if hosts(run) == 1:
        return [Place(worker, "", "", "")]
    fleet = Fleet.of(context)
    leader = fleet.leads(worker)
    return fleet.group(run, leader) if leader else []


@dataclass(frozen=True)
class Fleet:
    """The workers that are alive on machines that take runs, those of them that are taken, and the
    connections between them that broke."""

    workers: Sequence[Worker]
    engaged: Collection[str]
    present: datetime  # by the database's clock
    patience: float  # seconds that a run waits for lost machines
    broken: Collection[Link]

    @classmethod
    def of(cls, context: Context) -> Fleet:
        with reading(context.engine) as session:
            present = clock.read(session)
        return cls(
            alive(context),
            groups.engaged(context.engine),
            present,
            context.settings.machine_wait_seconds,
            links.broken(context.engine),
        )

    def leads(self, name: str) -> Worker | None:
        """The worker of this name, if it is the one with which its machine takes part."""
        return next((one for one in self._one_each(self._free(name)) if one.name == name), None)

    def group(self, run: Run, leader: Worker) -> list[Place]:
        """The machines that can train a run now, led by this one; none while too few are free."""
        free = [one for one in self._one_each(self._free(leader.name)) if one != leader]
        prefers = terms(run, "prefers")
        free.sort(key=lambda one: not has(offer(one), prefers))
        chosen = [leader, *self._together(run, leader, free)[: hosts(run) - 1]]
        if len(chosen) < hosts(run):
            chosen = chosen[: self._fewer(run, len(chosen))]
        return [_place(one) for one in chosen]

    def _fewer(self, run: Run, most: int) -> int:
        """On how many machines a run goes on that has lost some and waits for them no longer."""
        if run.config.get("on_lost_host") != "shrink" or not run.attempt:
            return 0
        if self.present - run.queued_at < timedelta(seconds=self.patience):
            return 0
        config = parse(run.config)
        return next((n for n in range(most, 0, -1) if config.on_hosts(n) is not None), 0)

    def machines(self) -> list[Worker]:
        """One worker of each machine."""
        return self._one_each(self.workers)

    def is_engaged(self, one: Worker) -> bool:
        """Whether all workers of its machine are taken."""
        return _key(one) not in {_key(free) for free in self._free("")}

    def partners(self, run: Run, leader: Worker) -> list[Worker]:
        """The machines that can train a run with this one, free or not."""
        others = [one for one in self.machines() if _key(one) != _key(leader)]
        return self._together(run, leader, others)

    def _together(self, run: Run, leader: Worker, others: Sequence[Worker]) -> list[Worker]:
        """Those of the others that can train a run with the leader and with each other."""
        chosen = [leader]
        for other in others:
            joins = obstacle(run, leader, other) is None
            if joins and all(self.gap(one, other) is None for one in chosen):
                chosen.append(other)
        return chosen[1:]

    def gap(self, one: Worker, other: Worker) -> str | None:
        """That two machines did not reach each other, if so."""
        if frozenset((one.address, other.address)) not in self.broken:
            return None
        return (
            f"{one.host} ({one.machine}) and {other.host} ({other.machine}) did not reach each"
            " other a moment ago: check the network between them, and GANBOARD_PORTS where there is"
            " a firewall"
        )

    def _free(self, besides: str) -> list[Worker]:
        return [
            one
            for one in self.workers
            if one.name == besides or (one.name not in self.engaged and one.run_id is None)
        ]

    def _one_each(self, workers: Sequence[Worker]) -> list[Worker]:
        ordered = sorted(workers, key=lambda one: (_key(one), one.name))
        return [next(found) for _, found in groupby(ordered, _key)]


def alive(context: Context) -> list[Worker]:
    """The workers that are alive on machines that take runs."""
    drained = draining.machines(context.engine)
    return [
        state.worker
        for state in heartbeats.workers(context.engine)
        if state.alive and state.worker.machine not in drained
    ]


def obstacle(run: Run, leader: Worker, other: Worker) -> str | None:
    """Why a machine cannot train a run together with the leader's, if so."""
    who = f"{other.host} ({other.machine})"
    own, its = _versions(leader), _versions(other)
    if own != its:
        name = next(name for name in {**own, **its} if own.get(name) != its.get(name))
        return (
            f"{who} has {name} {its.get(name, 'of an unknown version')} and {leader.host}"
            f" ({leader.machine}) {own.get(name, 'of an unknown version')}: install the same"
        )
    if lacks := lack(run, other):
        return f"{who} {lacks}"
    local = {_is_loopback(one) for one in (leader, other)}
    if local != {False} and (local != {True} or leader.boot != other.boot):
        alone = other if _is_loopback(other) else leader
        return (
            f"no other machine reaches {alone.host} ({alone.machine}): set GANBOARD_ADDRESS there"
        )
    return None


def lack(run: Run, worker: Worker) -> str | None:
    """What a machine lacks for a run, if anything."""
    lacks = [str(need) for need in terms(run, "needs") if not need.met(offer(worker))]
    if lacks:
        return f"lacks {', '.join(lacks)}"
    return None if can(run, worker.devices) else "cannot run it"


def _key(worker: Worker) -> tuple[str, str]:
    """Of a machine: hosts that share HOME have one name, machines with equal host names two."""
    return worker.machine or "", worker.host


def _versions(worker: Worker) -> dict[str, str]:
    return dict((worker.devices or {}).get("versions") or {})


def _is_loopback(worker: Worker) -> bool:
    return worker.address in ("", LOOPBACK)


def _place(worker: Worker) -> Place:
    return Place(worker.name, worker.machine or "", worker.host, worker.address or LOOPBACK)
