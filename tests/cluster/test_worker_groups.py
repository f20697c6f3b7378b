"""Worker groups over hosts in network namespaces, each with a HOME of its own: whatever happens to
a host, a link or the database, the losses are those of an undisturbed run to the bit."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from ganboard.db import heartbeats
from ganboard.db.models import ENDED, Member, Run
from ganboard.db.placement import artifacts, groups
from ganboard.db.settings import Settings
from ganboard.gan.presets import load
from ganboard.worker.context import Context, open_context
from ganboard.worker.submission.submit import submit
from tests.cluster.network import delays, network, reason
from tests.cluster.services import Machine, Services, machines, restart, services
from tests.crash.conftest import SMALL, hexes
from tests.crash.services.machines import stored, texts
from tests.crash.services.postgres import binaries
from tests.polling import wait_until

WHY_NOT = reason() or (None if binaries() else "PostgreSQL's programs are not installed")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.thorough,
    pytest.mark.timeout(1500),
    pytest.mark.skipif(WHY_NOT is not None, reason=str(WHY_NOT)),
]

EPOCHS = 24
SLOW_LINK = ("tbf", "rate", "10mbit", "burst", "32k", "latency", "400ms")


@dataclass
class Cluster:
    """Three machines with a worker each, and what an undisturbed run on two of them gave."""

    context: Context
    services: Services
    machines: Sequence[Machine]
    undisturbed: object = None

    def submit(self, name: str, hosts: int = 2) -> Run:
        settings = {"strategy": "multi_worker", "replicas": hosts, "hosts": hosts}
        return submit(
            self.context, load("tiny", {**SMALL, **settings, "epochs": EPOCHS}), name=name
        )

    def stored(self, run: Run) -> Run:
        return stored(self.context, run)

    def under_way(self, run: Run) -> Sequence[Member]:
        wait_until(
            lambda: (
                self.stored(run).epoch >= 2
                and artifacts.newest(self.context.engine, run.id) is not None
            ),
            seconds=300,
            what="epoch 2 and a stored checkpoint",
        )
        return groups.members(self.context.engine, run.id)

    def machine(self, member: Member) -> Machine:
        return next(one for one in self.machines if one.host.name == member.host)

    def ended(self, run: Run) -> Run:
        wait_until(lambda: self.stored(run).status in ENDED, seconds=500, what="the end")
        found = self.stored(run)
        assert found.status == "finished", texts(self.context, run)
        return found

    def alive(self) -> int:
        return sum(state.alive for state in heartbeats.workers(self.context.engine))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder: Path = tmp_path_factory.mktemp("cluster")
    (folder / "store").mkdir()
    with network(3) as hosts, services(hosts) as both:
        variables = {
            "GANBOARD_STORE": f"file://{folder}/store",
            "GANBOARD_MACHINE_WAIT": "3",
            "GANBOARD_DATA_DIR": str(Settings().data),
        }
        own = Settings(
            home=folder / "own",
            database_url=both.variables["GANBOARD_DATABASE_URL"],
            redis_url=both.variables["GANBOARD_REDIS_URL"],
            redis_password=both.variables["GANBOARD_REDIS_PASSWORD"],
        )
        context = open_context(own)
        made = Cluster(context, both, machines(hosts, both, folder, **variables))
        for machine in made.machines:
            machine.start()
        wait_until(lambda: made.alive() == 3, seconds=120, what="three workers")
        made.undisturbed = hexes(context, made.ended(made.submit("undisturbed")))
        yield made
        for machine in made.machines:
            machine.end()
        context.engine.dispose()


@pytest.mark.parametrize("who", ["leader", "follower"])
@pytest.mark.parametrize("fault", ["kill", "cut", "pause"])
def test_a_host_that_is_lost_costs_no_step(cluster: Cluster, fault: str, who: str) -> None:
    run = cluster.submit(f"{fault} {who}")
    members = cluster.under_way(run)
    lost = cluster.machine(members[0 if who == "leader" else 1])
    began = time.monotonic()
    if fault == "kill":
        lost.kill()
    elif fault == "cut":
        lost.host.cut()
    else:
        lost.host.signal(signal.SIGSTOP)
    wait_until(lambda: cluster.stored(run).attempt == 2, seconds=180, what="another attempt")
    print(f"{fault} {who}: another attempt after {time.monotonic() - began:.0f} s")
    again = cluster.under_way(run)
    assert lost.host.name not in {one.host for one in again}
    disturbed = cluster.ended(run)
    assert disturbed.attempt == 2, texts(cluster.context, run)
    assert hexes(cluster.context, disturbed) == cluster.undisturbed
    if fault == "pause":
        lost.host.signal(signal.SIGCONT)
    else:
        lost.host.mend()
    if fault == "kill":
        lost.start()
    wait_until(lambda: cluster.alive() == 3, seconds=180, what="the lost host is back")


def test_a_database_that_restarts_ends_nothing(cluster: Cluster) -> None:
    run = cluster.submit("restart")
    cluster.under_way(run)
    restart(cluster.services.database)
    disturbed = cluster.ended(run)
    assert disturbed.attempt == 1, texts(cluster.context, run)
    assert hexes(cluster.context, disturbed) == cluster.undisturbed


@pytest.mark.parametrize(
    "options", [SLOW_LINK, ("netem", "delay", "25ms"), ("netem", "loss", "1%")]
)
def test_a_slow_or_bad_link_changes_no_bit(cluster: Cluster, options: tuple[str, ...]) -> None:
    if options[0] == "netem" and not delays():
        pytest.skip("this kernel has no netem, which delays and loses packets")
    run = cluster.submit(" ".join(options))
    members = cluster.under_way(run)
    slow = cluster.machine(members[1]).host
    slow.slow(*options)
    try:
        disturbed = cluster.ended(run)
    finally:
        slow.normal()
    assert disturbed.attempt == 1, texts(cluster.context, run)
    assert hexes(cluster.context, disturbed) == cluster.undisturbed


def test_three_hosts_train_one_run(cluster: Cluster) -> None:
    run = cluster.submit("three", hosts=3)
    members = cluster.under_way(run)
    assert len({one.host for one in members}) == 3
    cluster.ended(run)
