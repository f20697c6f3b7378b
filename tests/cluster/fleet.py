"""Machines on hosts of a network, with one database and queue, and the runs that they train."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ganboard.db import heartbeats
from ganboard.db.models import ENDED, Member, Run
from ganboard.db.placement import artifacts, draining, groups
from ganboard.db.settings import Settings
from ganboard.gan.presets import load
from ganboard.worker.context import Context, open_context
from ganboard.worker.submission.submit import submit
from tests.cluster.network import network
from tests.cluster.services import Machine, Services, machines, services
from tests.crash.conftest import SMALL, hexes
from tests.crash.services.machines import stored, texts
from tests.polling import wait_until

EPOCHS = 24


@dataclass
class Fleet:
    """Machines with a worker each, and what undisturbed runs gave, by hosts and changes."""

    context: Context
    services: Services
    machines: Sequence[Machine]
    known: dict[str, object] = field(default_factory=dict)

    def submit(self, name: str, hosts: int = 2, **changes: object) -> Run:
        settings = {"strategy": "multi_worker", "replicas": hosts, "hosts": hosts, **changes}
        values = {**SMALL, "epochs": EPOCHS, "batch_size": 24 if hosts == 3 else 32, **settings}
        return submit(self.context, load("tiny", values), name=name)

    def stored(self, run: Run) -> Run:
        return stored(self.context, run)

    def under_way(self, run: Run, epoch: int = 2) -> Sequence[Member]:
        """The group of a run, once it has trained and something of it is stored."""
        wait_until(
            lambda: (
                self.stored(run).epoch >= epoch
                and artifacts.newest(self.context.engine, run.id) is not None
            ),
            seconds=300,
            what="an epoch and a stored checkpoint",
        )
        return groups.members(self.context.engine, run.id)

    def machine(self, member: Member) -> Machine:
        return next(one for one in self.machines if one.host.name == member.host)

    @contextmanager
    def only(self, members: Sequence[Member]) -> Iterator[None]:
        """No machine but theirs takes runs meanwhile."""
        engine = self.context.engine
        everyone = {state.worker.machine or "" for state in heartbeats.workers(engine)}
        rest = everyone - {member.machine for member in members}
        for machine in rest:
            draining.drain(engine, machine)
        try:
            yield
        finally:
            for machine in rest:
                draining.undrain(engine, machine)

    def ended(self, run: Run) -> Run:
        wait_until(lambda: self.stored(run).status in ENDED, seconds=600, what="the end")
        found = self.stored(run)
        assert found.status == "finished", texts(self.context, run)
        return found

    def losses(self, run: Run) -> object:
        return hexes(self.context, run)

    def undisturbed(self, hosts: int, **changes: object) -> object:
        """The losses of a run on so many hosts."""
        key = f"{hosts} {changes}"
        if key not in self.known:
            self.known[key] = self.losses(self.ended(self.submit("undisturbed", hosts, **changes)))
        return self.known[key]

    def alive(self) -> int:
        return sum(state.alive for state in heartbeats.workers(self.context.engine))

    def all_there(self) -> None:
        wait_until(
            lambda: self.alive() == len(self.machines), seconds=180, what="a worker on each host"
        )


@contextmanager
def fleet(folder: Path, hosts: int) -> Iterator[Fleet]:
    """Machines with HOMEs of their own and an artifact store, all of them started."""
    (folder / "store").mkdir(parents=True)
    with network(hosts) as net, services(net) as both:
        variables = {"GANBOARD_STORE": f"file://{folder}/store", "GANBOARD_MACHINE_WAIT": "3"}
        own = Settings(
            home=folder / "own",
            data_dir=folder / "own" / "data",  # whatever the environment says
            database_url=both.local["GANBOARD_DATABASE_URL"],
            redis_url=both.local["GANBOARD_REDIS_URL"],
            redis_password=both.local["GANBOARD_REDIS_PASSWORD"],
        )
        context = open_context(own)
        made = Fleet(context, both, machines(net, both, folder, **variables))
        for machine in made.machines:
            machine.start()
        made.all_there()
        try:
            yield made
        finally:
            for machine in made.machines:
                machine.end()
            context.engine.dispose()
