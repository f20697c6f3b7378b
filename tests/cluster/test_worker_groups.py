"""Worker groups over hosts in network namespaces, each with a HOME of its own: whatever happens to
a host, a link or the database, the losses are those of an undisturbed run to the bit."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator

import pytest

from tests.cluster import links, marks
from tests.cluster.fleet import Fleet
from tests.cluster.fleet import fleet as fleet_of
from tests.cluster.services import restart
from tests.crash.conftest import FULL
from tests.crash.services.machines import texts
from tests.polling import wait_until

pytestmark = marks.hosts(marks.NO_POSTGRES)

FAULTS = (
    ("kill", "leader"), ("cut", "follower"), ("pause", "leader"), ("kill", "follower"),
    ("cut", "leader"), ("pause", "follower"),
)  # fmt: skip


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    with fleet_of(tmp_path_factory.mktemp("fleet"), 4 if FULL else 3) as made:
        yield made


@pytest.mark.parametrize(("fault", "who"), FAULTS if FULL else FAULTS[:2])
def test_a_host_that_is_lost_costs_no_step(fleet: Fleet, fault: str, who: str) -> None:
    expected = fleet.undisturbed(2)
    run = fleet.submit(f"{fault} {who}")
    members = fleet.under_way(run)
    lost = fleet.machine(members[0 if who == "leader" else 1])
    began = time.monotonic()
    if fault == "kill":
        lost.kill()
    elif fault == "cut":
        lost.host.cut()
    else:
        lost.host.signal(signal.SIGSTOP)
    wait_until(lambda: fleet.stored(run).attempt == 2, seconds=180, what="another attempt")
    print(f"{fault} {who}: another attempt after {time.monotonic() - began:.0f} s")
    again = fleet.under_way(run)
    assert lost.host.name not in {one.host for one in again}
    disturbed = fleet.ended(run)
    assert disturbed.attempt == 2, texts(fleet.context, run)
    assert fleet.losses(disturbed) == expected
    if fault == "pause":
        lost.host.signal(signal.SIGCONT)
    else:
        lost.host.mend()
    if fault == "kill":
        lost.start()
    fleet.all_there()


@pytest.mark.skipif(not FULL, reason="takes minutes: make cluster-test")
def test_hosts_that_lose_each_other_alone_train_with_others(fleet: Fleet) -> None:
    expected = fleet.undisturbed(2)
    run = fleet.submit("cut from each other")
    members = fleet.under_way(run)
    one, other = (fleet.machine(member).host for member in members)
    one.cut_from(other)
    try:
        with fleet.only(members):
            wait_until(
                lambda: any("does not reach" in text for text in texts(fleet.context, run)),
                seconds=180,
            )
        disturbed = fleet.ended(run)
    finally:
        for host in (one, other):
            host.normal()
    assert disturbed.attempt == 3, texts(fleet.context, run)
    assert fleet.losses(disturbed) == expected


@pytest.mark.skipif(not FULL, reason="takes minutes: make cluster-test")
@pytest.mark.parametrize("hosts", [3, 4])
def test_more_hosts_lose_one_and_none_of_their_losses_changes(fleet: Fleet, hosts: int) -> None:
    expected = fleet.undisturbed(hosts)
    run = fleet.submit(f"{hosts} hosts", hosts)
    lost = fleet.machine(fleet.under_way(run)[-1])
    lost.kill()
    wait_until(lambda: fleet.stored(run).status != "running", seconds=180, what="the end of it")
    lost.host.mend()
    lost.start()
    disturbed = fleet.ended(run)
    assert disturbed.attempt == 2, texts(fleet.context, run)
    assert fleet.losses(disturbed) == expected
    fleet.all_there()


def test_a_database_that_restarts_ends_nothing(fleet: Fleet) -> None:
    expected = fleet.undisturbed(2)
    run = fleet.submit("restart")
    fleet.under_way(run)
    restart(fleet.services.database)
    disturbed = fleet.ended(run)
    assert disturbed.attempt == 1, texts(fleet.context, run)
    assert fleet.losses(disturbed) == expected


@pytest.mark.skipif(not FULL, reason="takes minutes: make cluster-test")
@pytest.mark.parametrize(
    "disturbed_by",
    [{"rate_mbit": 10}, {"delay_ms": 50}, {"loss_percent": 1}],
    ids=lambda one: next(iter(one)),
)
def test_a_slow_or_bad_link_changes_no_bit(fleet: Fleet, disturbed_by: dict[str, float]) -> None:
    (feature,) = (name.partition("_")[0] for name in disturbed_by)
    if missing := links.reason(feature):
        pytest.skip(missing)
    # 10 Mbit/s take 8 s for the 10 MB that a step of DCGAN exchanges
    small = {"model": "convgan", "width": 16}
    expected = fleet.undisturbed(2, **small)
    for machine in fleet.machines:
        machine.host.slow(**disturbed_by)
    try:
        disturbed = fleet.ended(fleet.submit(str(disturbed_by), **small))
    finally:
        for machine in fleet.machines:
            machine.host.normal()
    assert disturbed.attempt == 1, texts(fleet.context, disturbed)
    assert fleet.losses(disturbed) == expected


def test_three_hosts_lose_one_and_go_on_as_two(fleet: Fleet) -> None:
    run = fleet.submit("three", hosts=3, on_lost_host="shrink")
    members = fleet.under_way(run)
    assert len({one.host for one in members}) == 3
    lost = fleet.machine(members[2])
    with fleet.only(members):
        lost.kill()
        wait_until(lambda: fleet.stored(run).attempt == 2, seconds=180, what="another attempt")
        assert len(fleet.under_way(run)) == 2
        fleet.ended(run)
    assert any(
        "this attempt trains with 2 replicas on 2 machines instead of 3 on 3" in text
        for text in texts(fleet.context, run)
    )
    lost.host.mend()
    lost.start()
    fleet.all_there()
