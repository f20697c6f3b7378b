"""Several processes started, watched and ended together."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from ganboard.worker.training import process_group
from ganboard.worker.training.process_group import Ended, ProcessGroup
from tests.polling import wait_until

PLACE = (
    "import os, sys, time\nfrom ganboard.gan.distributed import cluster\nrank = cluster.rank()\n"
)


def of(code: str, size: int = 2, **variables: str) -> ProcessGroup:
    return ProcessGroup(
        [sys.executable, "-c", PLACE + code], size, output=subprocess.DEVNULL, **variables
    )


def pids(group: ProcessGroup) -> list[int]:
    """Process ids by rank."""
    return [process.pid for process in group._processes]


def gone(pids: list[int]) -> bool:
    return not any(psutil.pid_exists(pid) for pid in pids)


def test_each_process_knows_its_place_and_its_own_port(tmp_path: Path) -> None:
    code = (
        f"open(f'{tmp_path}/{{rank}}', 'w').write('[' + os.environ['TF_CONFIG'] + ', ' +"
        " os.environ['EXTRA'] + ']')"
    )
    with of(code, 3, EXTRA='"!"') as started:
        assert started.wait() == Ended(0, 0)
    environments = [json.loads((tmp_path / str(rank)).read_text()) for rank in range(3)]
    assert [(place["task"]["index"], extra) for place, extra in environments] == [
        (0, "!"),
        (1, "!"),
        (2, "!"),
    ]
    assert len(set(environments[0][0]["cluster"]["worker"])) == 3
    assert all(place["cluster"] == environments[0][0]["cluster"] for place, _ in environments)


def test_one_process_has_no_cluster() -> None:
    with of("sys.exit('TF_CONFIG' in os.environ)", 1) as started:
        assert started.wait() == Ended(0, 0)


def test_ports_are_not_given_away_but_can_be_served() -> None:
    with of("time.sleep(100)") as started:
        port = started._ports.numbers[0]
        with socket.socket() as other, pytest.raises(OSError, match="in use"):
            other.bind(("127.0.0.1", port))
        socket.create_server(("127.0.0.1", port)).close()


@pytest.mark.parametrize("rank", [0, 1])
def test_when_one_is_killed_all_end_at_once(rank: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_group, "GRACE_SECONDS", 1000)
    with of("time.sleep(1000)") as started:
        os.kill(pids(started)[rank], signal.SIGKILL)
        assert started.wait() == Ended(rank, -signal.SIGKILL)
        wait_until(lambda: gone(pids(started)), seconds=5)


def test_a_follower_that_failed_leaves_the_first_its_last_words(tmp_path: Path) -> None:
    mark = tmp_path / "failed"
    code = f"""
if rank:
    open({str(mark)!r}, 'w').close()
    sys.exit(7)
while not os.path.exists({str(mark)!r}):
    time.sleep(0.01)
time.sleep(0.2)  # what a database may take
"""
    with of(code) as started:
        assert started.wait() == Ended(0, 0)


def test_a_follower_that_failed_alone_ends_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_group, "GRACE_SECONDS", 0.2)
    with of("time.sleep(0 if rank else 1000); sys.exit(7)") as started:
        assert started.wait() == Ended(1, 7)
        assert gone(pids(started))


def test_all_processes_end_with_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_group, "GRACE_SECONDS", 0.2)
    with of("time.sleep(1000 if rank else 0)") as started:
        assert started.wait() == Ended(0, 0)
        assert gone(pids(started))


def test_a_first_process_that_lost_its_lease_ends_all_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(process_group, "GRACE_SECONDS", 1000)
    with of("time.sleep(1000 if rank else 0); sys.exit(75)") as started:
        assert started.wait() == Ended(0, 75)


def test_a_request_to_end_reaches_the_first_alone(tmp_path: Path) -> None:
    code = f"""
import signal
def end(*_):
    open(f'{tmp_path}/ended-{{rank}}', 'w').close()
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
open(f'{tmp_path}/ready-{{rank}}', 'w').close()
time.sleep(1000 if rank == 0 else 2)
"""
    with of(code) as started:
        wait_until(lambda: len(list(tmp_path.glob("ready-*"))) == 2, seconds=20)
        started.terminate()
        assert started.wait() == Ended(0, 0)
    assert [path.name for path in tmp_path.glob("ended-*")] == ["ended-0"]


def test_no_process_survives_the_context() -> None:
    with of("time.sleep(1000)", 3) as started:
        children = pids(started)
    assert gone(children)


def test_a_group_that_cannot_be_started_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    real, started = subprocess.Popen, []

    def popen(*arguments: object, **options: object) -> subprocess.Popen[bytes]:
        if started:
            raise BlockingIOError("Resource temporarily unavailable")
        started.append(real(*arguments, **options))  # type: ignore[call-overload]
        return started[0]

    monkeypatch.setattr(subprocess, "Popen", popen)
    with pytest.raises(BlockingIOError), of("time.sleep(1000)"):
        pytest.fail("it started")
    assert started[0].returncode == -signal.SIGKILL


def test_one_that_never_joins_is_named_and_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_group, "GRACE_SECONDS", 0.2)
    code = f"""
if rank:
    time.sleep(1000)
try:
    cluster.own(2).meet(0.5)
except Exception as error:
    open({str(tmp_path / "said")!r}, 'w').write(str(error))
"""
    began = time.monotonic()
    with of(code) as started:
        assert started.wait() == Ended(0, 0)
        assert gone(pids(started))
    assert "rank 1 of 2 trainer processes did not join" in (tmp_path / "said").read_text()
    assert time.monotonic() - began < 30
