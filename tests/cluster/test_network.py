"""The hosts themselves: they reach each other by name, and what disturbs them does."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from redis import Redis

from ganboard.db.engine import make_engine
from tests.cluster import links, marks
from tests.cluster.network import Network, network, reason
from tests.cluster.services import PASSWORD, restart, services
from tests.polling import wait_until

pytestmark = marks.hosts(seconds=600)

# answers with the seconds that the first byte and all bytes took
SERVE = """
import socket
from contextlib import suppress
server = socket.create_server(("", 7000))
while True:
    with server.accept()[0] as client, suppress(OSError):
        client.sendall(b"here" + bytes(500_000))
"""
ASK = """
import socket, sys, time
try:
    began = time.monotonic()
    with socket.create_connection((sys.argv[1], 7000), timeout=float(sys.argv[2])) as client:
        first = client.recv(4)
        early = time.monotonic()
        while client.recv(65536):
            pass
    print(first.decode(), early - began, time.monotonic() - began)
except OSError as error:
    print(type(error).__name__, 0, 0)
"""
CHILD = "import subprocess, sys; subprocess.Popen(sys.argv[1:], start_new_session=True).wait()"


@pytest.fixture
def two() -> Iterator[Network]:
    """Two hosts; the second serves."""
    with network(2) as made:
        made.hosts[1].popen([sys.executable, "-c", SERVE])
        wait_until(lambda: ask(made)[0] == "here", seconds=20, what="the server")
        yield made


def ask(made: Network, timeout: float = 2) -> tuple[str, float, float]:
    """What the second host answers the first, and the seconds until the first and last byte."""
    command = [sys.executable, "-c", ASK, made.hosts[1].name, str(timeout)]
    word, early, late = made.hosts[0].run(command).split()
    return word, float(early), float(late)


def answer(made: Network) -> str:
    return ask(made)[0]


def without(feature: str) -> pytest.MarkDecorator:
    why = None if reason() else links.reason(feature)
    return pytest.mark.skipif(why is not None, reason=str(why))


def test_hosts_have_names_of_their_own(two: Network) -> None:
    one, other = two.hosts
    assert [host.run(["hostname"]).strip() for host in two.hosts] == ["host1", "host2"]
    for name, address in (("host2", other.address), ("localhost", "127.0.0.1")):
        assert one.run(["getent", "ahostsv4", name]).split()[0] == address
    assert "host2" not in Path("/etc/hosts").read_text()


def test_a_cut_link_loses_everything_until_it_is_mended(two: Network) -> None:
    other = two.hosts[1]
    other.cut()
    assert answer(two) == "TimeoutError"
    other.mend()
    wait_until(lambda: answer(two) == "here", seconds=20)


def test_a_pause_holds_descendants_and_a_kill_ends_them(two: Network) -> None:
    other = two.hosts[1]
    started = other.popen([sys.executable, "-c", CHILD, "sleep", "1000"])
    # the server, this and its child
    wait_until(lambda: len(other.processes()) == 3, seconds=20, what="a child in another session")
    other.pause()
    assert {process.status() for process in other.processes()} == {psutil.STATUS_STOPPED}
    assert answer(two) == "TimeoutError"
    other.resume()
    assert answer(two) == "here"
    other.kill()
    assert started.wait(10) == -signal.SIGKILL
    assert other.processes() == []
    assert answer(two) in ("TimeoutError", "OSError")


@without("rate")
def test_a_limited_rate(two: Network) -> None:
    two.hosts[1].slow(rate_mbit=4)
    word, _, seconds = ask(two, 10)
    assert word == "here"
    assert seconds > 0.8, "4 Mbit take a second; the first 32 KB are free"
    two.hosts[1].normal()
    assert ask(two)[2] < 0.8


@without("delay")
def test_a_delay_is_added_each_way(two: Network) -> None:
    two.hosts[1].slow(delay_ms=100)
    word, seconds, _ = ask(two, 10)
    assert word == "here"
    assert seconds >= 0.4, "two round trips"
    two.hosts[1].cut()
    assert answer(two) == "TimeoutError"
    two.hosts[1].mend()
    wait_until(lambda: ask(two, 10)[0] == "here", seconds=20)
    two.hosts[1].normal()
    assert ask(two)[1] < 0.4


@without("loss")
def test_loss_is_silent(two: Network) -> None:
    one, other = two.hosts
    other.slow(loss_percent=100)
    began = time.monotonic()
    assert ask(two, 6)[0] == "TimeoutError", "no error of the kernel comes before"
    assert time.monotonic() - began >= 6
    other.slow(loss_percent=20, rate_mbit=50, delay_ms=1)
    assert ask(two, 60)[0] == "here"
    other.normal()
    assert answer(two) == "here"
    assert one.run(["tc", "qdisc", "show", "dev", "eth0"]).split()[1] == "noqueue"


@without("loss")
def test_two_hosts_are_cut_from_each_other_alone(two: Network) -> None:
    one, other = two.hosts
    other.cut_from(one)
    assert answer(two) == "TimeoutError"
    assert two.services.run([sys.executable, "-c", ASK, other.name, "2"]).split()[0] == "here"
    for host in two.hosts:
        host.normal()
    wait_until(lambda: answer(two) == "here", seconds=20)


@pytest.mark.skipif(bool(marks.NO_POSTGRES), reason=str(marks.NO_POSTGRES))
def test_hosts_and_this_process_reach_the_services() -> None:
    ask_both = (
        "import sys; from redis import Redis; from ganboard.db.engine import make_engine;"
        "print(make_engine(sys.argv[1]).connect().exec_driver_sql('select 1').scalar(),"
        " Redis.from_url(sys.argv[2], password=sys.argv[3]).get('x'))"
    )
    with network(2) as made, services(made) as both:
        with Redis.from_url(both.local["GANBOARD_REDIS_URL"], password=PASSWORD) as redis:
            redis.set("x", "y")
        engine = make_engine(both.local["GANBOARD_DATABASE_URL"])
        for query in ("create table kept (n int)", "insert into kept values (7)"):
            with engine.begin() as connection:
                connection.exec_driver_sql(query)
        urls = [both.variables[f"GANBOARD_{name}_URL"] for name in ("DATABASE", "REDIS")]
        command = [sys.executable, "-c", ask_both, *urls, PASSWORD]
        assert [host.run(command).split() for host in made.hosts] == [["1", "b'y'"]] * 2
        restart(both.database)
        engine.dispose()
        with engine.connect() as connection:
            assert connection.exec_driver_sql("select n from kept").scalar() == 7
        engine.dispose()
        assert made.hosts[0].run(command).split()[0] == "1"


def test_nothing_is_left_even_of_a_test_that_is_killed() -> None:
    command = (
        "from tests.cluster.network import network\n"
        "with network(1) as made:\n"
        "    made.hosts[0].popen(['sleep', '1000'])\n"
        "    print(made.hosts[0].namespace, flush=True)\n"
        "    input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as killed:
        assert killed.stdout is not None
        namespace = killed.stdout.readline().decode().strip()
        killed.kill()
    with network(1) as made:
        assert namespace not in namespaces()
        own = {made.hosts[0].namespace, made.services.namespace}
        assert own <= namespaces()
    assert not own & namespaces()


def namespaces() -> set[str]:
    return {path.name for path in Path("/run/netns").iterdir()}
