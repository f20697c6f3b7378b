"""A Redis that answers and refuses: the command line and the doctor say what is missing and which
setting has it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ganboard.db.models import Run
from ganboard.db.settings import Settings
from ganboard.worker.context import Context, connect
from ganboard.worker.doctor.queue import queue as examine
from ganboard.worker.errors import QueueRefuses
from ganboard.worker.process import redis_server
from ganboard.worker.queue.enqueue import enqueue_run
from tests.cli import ganboard
from tests.polling import wait_until

USERS = """
requirepass geheim
user reader on >geheim ~* +ping
user mute on >geheim
"""


@pytest.fixture
def restricted(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The socket of a server with a password; ganboard gets its address and nothing else."""
    conf, path = tmp_path / "redis.conf", tmp_path / "s"
    conf.write_text(USERS)
    command = [redis_server.find_binary(), str(conf), "--port", "0", "--unixsocket", str(path)]
    with subprocess.Popen([*command, "--dir", str(tmp_path)], stdout=subprocess.DEVNULL) as server:
        wait_until(path.exists, seconds=10, what="the socket of redis-server")
        monkeypatch.setenv("GANBOARD_REDIS_URL", f"unix://{path}")
        yield path
        server.terminate()


@pytest.mark.parametrize(
    ("user", "password", "problem", "remedy"),
    [
        ("", "", "needs a password", "GANBOARD_REDIS_PASSWORD_FILE"),
        ("", "wrong", "rejects the password of the default user", "GANBOARD_REDIS_PASSWORD_FILE"),
        ("nobody", "geheim", "rejects the password of user nobody", "GANBOARD_REDIS_URL"),
        ("mute", "geheim", "does not allow a command", "permissions listed in docs/security.md"),
        ("reader", "geheim", "does not allow a command", "permissions listed in docs/security.md"),
    ],
)
def test_a_refusal_names_what_is_missing(
    restricted: Path,
    context: Context,
    make_run: Callable[..., Run],
    monkeypatch: pytest.MonkeyPatch,
    user: str,
    password: str,
    problem: str,
    remedy: str,
) -> None:
    if user:
        monkeypatch.setenv("GANBOARD_REDIS_URL", f"unix://{user}@{restricted}")
    if password:
        monkeypatch.setenv("GANBOARD_REDIS_PASSWORD", password)
    with pytest.raises(QueueRefuses) as caught:
        enqueue_run(connect(Settings()), make_run(status="queued"))
    assert problem in str(caught.value)
    assert remedy in str(caught.value)
    assert "geheim" not in str(caught.value)
    check = examine(Settings())
    assert (check.status, problem in check.text, remedy in check.remedy) == ("fail", True, True)


def test_a_command_that_queues_a_run_says_so(
    restricted: Path, make_run: Callable[..., Run]
) -> None:
    stopped = make_run(status="stopped")
    said = ganboard("resume", stopped.id).stderr
    assert "The queue needs a password: point GANBOARD_REDIS_PASSWORD_FILE" in said
    assert f"Run {stopped.id} is stored" in said
