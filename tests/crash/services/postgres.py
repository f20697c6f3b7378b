"""A PostgreSQL server of the test's own, that may be stopped as hard as it likes."""

from __future__ import annotations

import getpass
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.up import free_port

DEBIAN = "/usr/lib/postgresql"


def binaries() -> Path | None:
    """The folder with initdb and pg_ctl; None where PostgreSQL is not installed."""
    folders = [
        *sorted(Path(DEBIAN).glob("*/bin"), reverse=True),
        *([Path(found).parent] if (found := shutil.which("initdb")) else []),
    ]
    return next(
        (
            folder
            for folder in folders
            if (folder / "initdb").exists() and (folder / "pg_ctl").exists()
        ),
        None,
    )


@dataclass(frozen=True)
class Server:
    """A cluster in a temporary folder, on a port of this machine."""

    bin: Path
    folder: Path
    port: int
    address: str = "127.0.0.1"
    inside: tuple[str, ...] = ()  # what runs a program where the server is to run

    @property
    def url(self) -> str:
        return f"postgresql://postgres@{self.address}:{self.port}/postgres"

    @property
    def socket_url(self) -> str:
        """The way that needs no network."""
        return f"postgresql://postgres@/postgres?host={self.folder}&port={self.port}"

    def start(self) -> None:
        options = (
            f"-p {self.port} -c listen_addresses={self.address}"
            f" -c unix_socket_directories={self.folder}"
        )
        self._run(
            "pg_ctl",
            "start",
            "-w",
            "-s",
            "-D",
            str(self.folder / "data"),
            "-l",
            str(self.folder / "log"),
            "-o",
            options,
        )

    def stop(self) -> None:
        """At once, as a crash: what is committed is recovered from its log."""
        self._run("pg_ctl", "stop", "-w", "-s", "-D", str(self.folder / "data"), "-m", "immediate")

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self.bin / program), *arguments]
        if os.getuid() == 0:  # PostgreSQL refuses to run as root
            command = ["runuser", "-u", "postgres", "--", *command]
        command = [*self.inside, *command]
        # it is no process of that home
        own = {
            name: value for name, value in os.environ.items() if not name.startswith("GANBOARD_")
        }
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=60, env=own)


@contextmanager
def postgres(
    address: str = "127.0.0.1", admitted: str = "", inside: tuple[str, ...] = ()
) -> Iterator[Server]:
    """A running server on this address, which admits a network; ended, and its folder removed,
    afterwards."""
    found = binaries()
    assert found is not None, "no initdb on this machine"
    with tempfile.TemporaryDirectory(prefix="ganboard-pg-", ignore_cleanup_errors=True) as name:
        if os.getuid() == 0:
            shutil.chown(name, "postgres")
        server = Server(found, Path(name), free_port(), address, inside)
        user = "postgres" if os.getuid() == 0 else getpass.getuser()
        assert user
        server._run(
            "initdb",
            "-D",
            str(server.folder / "data"),
            "-U",
            "postgres",
            "--auth=trust",
            "--no-sync",
        )
        if admitted:
            with (server.folder / "data" / "pg_hba.conf").open("a") as file:
                file.write(f"host all all {admitted} trust\n")
        server.start()
        try:
            yield server
        finally:
            server.stop()
