"""PostgreSQL and Redis that all hosts of a network reach, and machines with workers on them."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ganboard.db.settings import Settings
from ganboard.worker.process import redis_server
from tests.cluster.network import Host, Network, environment
from tests.crash.services.postgres import Server, postgres
from tests.polling import wait_until

PASSWORD = "of the tests"
WORKER = "ganboard.worker.queue.rq_worker"


@dataclass(frozen=True)
class Services:
    database: Server
    variables: dict[str, str]  # with which ganboard reaches both from a host
    local: dict[str, str]  # and from this process


@contextmanager
def services(network: Network) -> Iterator[Services]:
    """Both, on the bridge."""
    own = network.services
    inside = ("nsenter", f"--net=/run/netns/{own.namespace}")
    with (
        postgres(own.address, network.subnet, inside) as server,
        tempfile.TemporaryDirectory(prefix="ganboard-redis-") as folder,
        own.popen(
            [
                redis_server.find_binary(),
                *("--port", "6379", "--bind", own.address, "--unixsocket", f"{folder}/socket"),
                *("--requirepass", PASSWORD, "--save", "", "--appendonly", "no"),
            ],
            stdout=subprocess.DEVNULL,
        ) as redis,
    ):
        try:
            variables = {
                "GANBOARD_DATABASE_URL": server.url,
                "GANBOARD_REDIS_URL": f"redis://{own.address}:6379/0",
                "GANBOARD_REDIS_PASSWORD": PASSWORD,
            }
            local = {
                **variables,
                "GANBOARD_DATABASE_URL": server.socket_url,
                "GANBOARD_REDIS_URL": f"unix://{folder}/socket",
            }
            wait_until(lambda: Path(folder, "socket").exists(), seconds=20, what="Redis")
            yield Services(server, variables, local)
        finally:
            redis.kill()


@dataclass
class Machine:
    """A host with a HOME of its own and one worker."""

    host: Host
    home: Path
    variables: dict[str, str]
    worker: subprocess.Popen[bytes] | None = None
    settings: Settings = field(init=False)

    def __post_init__(self) -> None:
        self.home.mkdir(exist_ok=True)
        self.settings = Settings(home=self.home)

    @property
    def log(self) -> str:
        return (self.home / "worker.log").read_text()

    def start(self) -> None:
        with (self.home / "worker.log").open("ab") as log:
            self.worker = self.host.popen(
                [sys.executable, "-m", WORKER], stdout=log, stderr=log, env=self.environment()
            )

    def environment(self) -> dict[str, str]:
        return environment({**self.variables, "GANBOARD_HOME": str(self.home)})

    def kill(self) -> None:
        """As when the host loses power."""
        self.host.kill()
        if self.worker is not None:
            self.worker.wait(10)

    def end(self) -> None:
        """As its service manager does."""
        if self.worker is not None and self.worker.poll() is None:
            self.worker.send_signal(signal.SIGTERM)
            self.worker.wait(60)


def machines(network: Network, both: Services, folder: Path, **variables: str) -> Sequence[Machine]:
    """A machine on each host, none of them started."""
    shared = {**both.variables, **variables}
    return [Machine(host, folder / host.name, shared) for host in network.hosts]


def restart(server: Server) -> None:
    """Stop the database as a crash does, and start it again."""
    server.stop()
    server.start()
