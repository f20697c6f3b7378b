"""Who a process of a group is, and how all of them meet."""

from __future__ import annotations

import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from ganboard.gan.config import ConfigError
from ganboard.gan.distributed import cluster
from ganboard.gan.distributed.cluster import Cluster
from ganboard.gan.events import TrainingFailed
from tests.up import free_port


def group(size: int) -> list[Cluster]:
    addresses = tuple(f"127.0.0.1:{free_port()}" for _ in range(size))
    return [Cluster(addresses, rank) for rank in range(size)]


def test_a_process_finds_its_place_in_what_its_parent_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TF_CONFIG", raising=False)
    assert cluster.rank() == 0
    for name, value in Cluster(("127.0.0.1:4001", "127.0.0.1:4002"), 1).environment().items():
        monkeypatch.setenv(name, value)
    assert cluster.own(2) == Cluster(("127.0.0.1:4001", "127.0.0.1:4002"), 1)
    assert cluster.rank() == 1


def test_the_environment_is_what_tensorflow_documents() -> None:
    environment = Cluster(("a:1", "b:2"), 1).environment()
    assert json.loads(environment["TF_CONFIG"]) == {
        "cluster": {"worker": ["a:1", "b:2"]},
        "task": {"type": "worker", "index": 1},
    }


@pytest.mark.parametrize(
    "value",
    [
        "",
        "{",
        "[]",
        '{"cluster": {"worker": ["a:1"]}}',
        Cluster(("a:1",), 0),
        Cluster(("a:1", "b:2", "c:3"), 0),
        Cluster(("a:1", "b:2"), 2),
    ],
)
def test_a_process_outside_a_group_of_that_size_says_how_to_start_one(
    value: str | Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(
        "TF_CONFIG", value if isinstance(value, str) else value.environment()["TF_CONFIG"]
    )
    with pytest.raises(
        ConfigError, match=r"replicas=2 needs 2 connected processes.* `ganboard train`"
    ):
        cluster.own(2)


def test_all_leave_together_although_strangers_knock() -> None:
    first, *others = group(3)
    with ThreadPoolExecutor(3) as pool:
        meeting = pool.submit(first.meet, 20)
        host, port = first.addresses[0].split(":")
        for words in (b"", b"GET / HTTP/1.1\r\n\r\n"):
            while True:
                try:
                    stranger = socket.create_connection((host, int(port)))
                    break
                except ConnectionRefusedError:
                    continue
            with closing(stranger):
                stranger.sendall(words)
        early = pool.submit(others[0].meet, 20)
        assert not meeting.done()
        others[1].meet(20)
        assert meeting.result(20) is early.result(20) is None


def test_who_does_not_join_is_named_within_the_time_set(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, *_ = group(4)
    monkeypatch.setattr(cluster, "JOIN_SECONDS", 0.5)
    began = time.monotonic()
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(second.meet)
        with pytest.raises(
            TrainingFailed, match=r"ranks 2, 3 of 4 trainer processes did not join.*fewer replicas"
        ):
            first.meet()
        with pytest.raises(TrainingFailed, match="rank 0 of 4"):
            other.result()
    assert time.monotonic() - began < 10  # not the minute of the default


def test_the_port_is_free_again_after_the_meeting() -> None:
    first, second = group(2)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(second.meet, 20)
        first.meet(20)
    host, port = first.addresses[0].split(":")
    socket.create_server((host, int(port))).close()
