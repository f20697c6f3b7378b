"""Hosts in network namespaces on one bridge, whose links can be cut, slowed and disturbed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

PREFIX = "gbt"
_TOOLS = ("ip", "tc", "nsenter", "unshare", "mount")


def reason() -> str | None:
    """Why there can be no such hosts here; None if there can."""
    if os.getuid():
        return "network namespaces need root"
    if missing := [tool for tool in _TOOLS if shutil.which(tool) is None]:
        return f"not installed: {', '.join(missing)} (Debian: iproute2, util-linux)"
    probe = subprocess.run(
        ["unshare", "--net", "--uts", "--mount", "true"],
        capture_output=True,
        text=True,
        check=False,
    )
    return f"namespaces are forbidden here: {probe.stderr.strip()}" if probe.returncode else None


def delays() -> bool:
    """Whether this kernel can delay and lose packets (netem)."""
    with _namespace(f"{PREFIX}{os.getpid()}p") as name:
        _run("ip", "-n", name, "link", "set", "lo", "up")
        command = ["ip", "netns", "exec", name, "tc", "qdisc", "add", "dev", "lo", "root"]
        tried = subprocess.run(
            [*command, "netem", "delay", "1ms"], capture_output=True, check=False
        )
    return tried.returncode == 0


@dataclass
class Host:
    """A namespace with a host name, an address and the processes that run in it."""

    name: str
    namespace: str
    address: str
    link: str  # the bridge's end of its cable
    bridge: str  # the namespace of the bridge
    names: Path  # its /etc/hosts

    def popen(self, command: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
        """Start a program on this host. `ip netns exec` would hide control groups from it."""
        script = f'mount --bind {self.names} /etc/hosts; hostname {self.name}; exec "$@"'
        inside = ["nsenter", f"--net=/run/netns/{self.namespace}", "unshare", "--uts", "--mount"]
        return subprocess.Popen([*inside, "sh", "-c", script, "sh", *command], **options)

    def run(self, command: Sequence[str], **options: Any) -> str:
        """Run a program on this host; what it printed."""
        with self.popen(command, stdout=subprocess.PIPE, **options) as process:
            printed = process.communicate(timeout=120)[0].decode()
            assert process.returncode == 0, (command, printed)
            return printed

    def processes(self) -> list[psutil.Process]:
        found = []
        for pid in _run("ip", "netns", "pids", self.namespace).split():
            with suppress(psutil.NoSuchProcess):
                found.append(psutil.Process(int(pid)))
        return found

    def signal(self, sig: signal.Signals) -> None:
        """Send a signal to all processes of this host."""
        for process in self.processes():
            with suppress(psutil.NoSuchProcess):
                process.send_signal(sig)

    def kill(self) -> None:
        """End all processes at once, as when the host loses power: no packet says so."""
        self.cut()
        self.end()

    def end(self) -> None:
        """Kill all processes."""
        while self.processes():
            self.signal(signal.SIGKILL)
            psutil.wait_procs(self.processes(), timeout=5)

    def cut(self) -> None:
        """Pull the cable: packets are lost without an answer."""
        _run("ip", "-n", self.bridge, "link", "set", self.link, "down")

    def mend(self) -> None:
        """Plug the cable in again."""
        _run("ip", "-n", self.bridge, "link", "set", self.link, "up")

    def slow(self, *options: str) -> None:
        """Shape what this host sends and receives, by options of `tc qdisc`."""
        inside = ["ip", "netns", "exec"]
        for namespace, device in ((self.bridge, self.link), (self.namespace, "eth0")):
            _run(*inside, namespace, "tc", "qdisc", "replace", "dev", device, "root", *options)

    def normal(self) -> None:
        """Undo `slow`."""
        inside = ["ip", "netns", "exec"]
        for namespace, device in ((self.bridge, self.link), (self.namespace, "eth0")):
            _run(*inside, namespace, "tc", "qdisc", "del", "dev", device, "root")


@dataclass(frozen=True)
class Network:
    """Hosts, and one more on the bridge itself for what all of them use.

    Nothing of it is in this process's own namespace: browsers notice each interface that comes and
    goes there, and break off what they load.
    """

    hosts: list[Host]
    services: Host
    subnet: str


@contextmanager
def network(count: int) -> Iterator[Network]:
    """So many hosts, removed with all that runs on them afterwards."""
    _remove_leftovers()
    own = f"{PREFIX}{os.getpid()}"
    with (
        tempfile.TemporaryDirectory(prefix="ganboard-hosts-") as folder,
        _namespace(f"{own}n") as bridge,
    ):
        _run("ip", "-n", bridge, "link", "add", "br0", "type", "bridge")
        _run("ip", "-n", bridge, "link", "set", "br0", "up")
        address, subnet = "10.231.7.254", "10.231.7.0/24"
        _run("ip", "-n", bridge, "address", "add", f"{address}/24", "dev", "br0")
        _run("ip", "-n", bridge, "link", "set", "lo", "up")
        hosts: list[Host] = []
        names = Path(folder, "hosts")
        services = Host("services", bridge, address, "", bridge, names)
        try:
            for number in range(1, count + 1):
                host = Host(
                    f"host{number}",
                    f"{own}h{number}",
                    f"10.231.7.{10 + number}",
                    f"host{number}",
                    bridge,
                    names,
                )
                _add(host)
                hosts.append(host)
            everyone = [*hosts, services]
            known = [("127.0.0.1", "localhost"), *((one.address, one.name) for one in everyone)]
            names.write_text("".join(f"{where} {name}\n" for where, name in known))
            yield Network(hosts, services, subnet)
        finally:
            for host in hosts:
                host.kill()
                _run("ip", "netns", "del", host.namespace)
            services.end()


def _add(host: Host) -> None:
    _run("ip", "netns", "add", host.namespace)
    peer = ["peer", "name", "eth0", "netns", host.namespace]
    _run("ip", "-n", host.bridge, "link", "add", host.link, "type", "veth", *peer)
    _run("ip", "-n", host.bridge, "link", "set", host.link, "master", "br0", "up")
    _run("ip", "-n", host.namespace, "address", "add", f"{host.address}/24", "dev", "eth0")
    for device in ("eth0", "lo"):
        _run("ip", "-n", host.namespace, "link", "set", device, "up")


@contextmanager
def _namespace(name: str) -> Iterator[str]:
    _run("ip", "netns", "add", name)
    try:
        yield name
    finally:
        _run("ip", "netns", "del", name)


def _remove_leftovers() -> None:
    """Namespaces of test processes that were killed."""
    for line in _run("ip", "netns", "list").splitlines():
        name = line.split()[0]
        digits = "".join(c for c in name.removeprefix(PREFIX).partition("h")[0] if c.isdigit())
        if name.startswith(PREFIX) and digits and not psutil.pid_exists(int(digits)):
            for pid in _run("ip", "netns", "pids", name).split():
                with suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
            _run("ip", "netns", "del", name)


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """This process's environment without ganboard's variables, and these."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("GANBOARD_")}
    return {**own, **variables}


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr.strip()}"
    return done.stdout
