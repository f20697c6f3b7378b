"""Hosts in network namespaces on one bridge, whose links can be cut, slowed and disturbed."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import psutil

from tests.cluster.links import Link
from tests.cluster.links import run as _run
from tests.polling import wait_until

PREFIX = "gbt"
# gone with its namespaces
_PROBE = """set -e
mount --bind /etc/hosts /etc/hosts
hostname probe
ip link set lo up
ip link add br0 type bridge
ip link add port type veth peer name cable
ip link set port master br0 up
"""
_TOOLS = ("ip", "tc", "nsenter", "unshare", "mount", "hostname")


@cache
def reason() -> str | None:
    """Why there can be no such hosts here; None if there can."""
    if os.getuid():
        return "network namespaces need root"
    if missing := [tool for tool in _TOOLS if shutil.which(tool) is None]:
        return f"not installed: {', '.join(missing)} (Debian: iproute2, util-linux, hostname)"
    probe = subprocess.run(
        ["unshare", "--net", "--uts", "--mount", "sh", "-c", _PROBE],
        capture_output=True,
        text=True,
        check=False,
    )
    return f"namespaces are forbidden here: {probe.stderr.strip()}" if probe.returncode else None


@dataclass
class Host:
    """A namespace with a host name, an address and the processes that run in it."""

    name: str
    namespace: str
    address: str
    link: Link
    names: Path  # its /etc/hosts
    _started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def popen(self, command: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
        """Start a program on this host. `ip netns exec` would hide control groups from it."""
        script = f'set -e; mount --bind {self.names} /etc/hosts; hostname {self.name}; exec "$@"'
        inside = ["nsenter", f"--net=/run/netns/{self.namespace}", "unshare", "--uts", "--mount"]
        process = subprocess.Popen([*inside, "sh", "-c", script, "sh", *command], **options)
        self._started.append(process)
        return process

    def run(self, command: Sequence[str], **options: Any) -> str:
        """Run a program on this host; what it printed."""
        with self.popen(command, stdout=subprocess.PIPE, **options) as process:
            try:
                printed = process.communicate(timeout=120)[0].decode()
            except subprocess.TimeoutExpired:
                process.kill()
                raise
            finally:
                self._started.remove(process)
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

    def pause(self) -> None:
        """Stop all processes, those that begin meanwhile too."""
        wait_until(self._stopped, seconds=20, what=f"the pause of {self.name}")

    def resume(self) -> None:
        """Undo `pause`."""
        self.signal(signal.SIGCONT)

    def kill(self) -> None:
        """End all processes at once, as when the host loses power: no packet says so. `mend` comes
        before the host is used again."""
        self.cut()
        self.end()

    def end(self) -> None:
        """Kill all processes."""
        for process in self._started:  # also one that has not entered the namespace yet
            process.kill()
        wait_until(self._ended, seconds=20, what=f"the end of {self.name}")
        for process in self._started:
            process.wait(20)
        self._started.clear()

    def _stopped(self) -> bool:
        self.signal(signal.SIGSTOP)
        stopped = (psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE)
        return all(_status(process) in stopped for process in self.processes())

    def _ended(self) -> bool:
        self.signal(signal.SIGKILL)
        return not self.processes()

    def cut(self) -> None:
        """Pull the cable: packets are lost without an answer. After three seconds of it the kernel
        gives up on a neighbour and reports "no route to host"; `slow(loss_percent=100)` never
        does."""
        _run("ip", "-n", self.link.bridge, "link", "set", self.link.port, "down")

    def mend(self) -> None:
        """Plug the cable in again."""
        _run("ip", "-n", self.link.bridge, "link", "set", self.link.port, "up")

    def cut_from(self, other: Host) -> None:
        """Lose what this host and another send each other; both still reach everything else."""
        for one, far in ((self, other), (other, self)):
            one.normal()
            one.link.refuse(far.address)

    def slow(
        self, *options: str, delay_ms: float = 0, rate_mbit: float = 0, loss_percent: float = 0
    ) -> None:
        """Shape what this host sends and receives, in each direction alike: by options of `tc
        qdisc`, or, where the kernel may lack netem, by name."""
        self.normal()
        if options:
            self.link.shape(*options)
        if rate_mbit:
            self.link.limit(rate_mbit)
        if loss_percent:
            self.link.lose(loss_percent)
        if delay_ms:
            self.link.delay(delay_ms)

    def normal(self) -> None:
        """Undo `slow` and this host's side of `cut_from`."""
        self.link.restore()


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
    address, subnet = "10.231.7.254", "10.231.7.0/24"
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="ganboard-hosts-"))
        names = Path(folder, "hosts")
        # the bridge is in a namespace of its own: elsewhere Docker's rules would silence it
        bridge = stack.enter_context(_namespace(f"{own}n"))
        _run("ip", "-n", bridge, "link", "add", "br0", "type", "bridge")
        _run("ip", "-n", bridge, "address", "add", f"{address}/24", "dev", "br0")
        for device in ("br0", "lo"):
            _run("ip", "-n", bridge, "link", "set", device, "up")
        services = Host("services", bridge, address, Link(bridge, bridge, ""), names)
        stack.callback(services.end)
        hosts: list[Host] = []
        for number in range(1, count + 1):
            name = f"host{number}"
            namespace = stack.enter_context(_namespace(f"{own}h{number}"))
            link = Link(namespace, bridge, name)
            host = Host(name, namespace, f"10.231.7.{10 + number}", link, names)
            _connect(host)
            stack.callback(host.kill)
            stack.callback(host.normal)
            hosts.append(host)
        everyone = [*hosts, services]
        known = [("127.0.0.1", "localhost"), *((one.address, one.name) for one in everyone)]
        names.write_text("".join(f"{where} {name}\n" for where, name in known))
        yield Network(hosts, services, subnet)


def _connect(host: Host) -> None:
    peer = ["peer", "name", "eth0", "netns", host.namespace]
    bridge, port = host.link.bridge, host.link.port
    _run("ip", "-n", bridge, "link", "add", port, "type", "veth", *peer)
    _run("ip", "-n", bridge, "link", "set", port, "master", "br0", "up")
    _run("ip", "-n", host.namespace, "address", "add", f"{host.address}/24", "dev", "eth0")
    for device in ("eth0", "lo"):
        _run("ip", "-n", host.namespace, "link", "set", device, "up")


def _status(process: psutil.Process) -> str:
    with suppress(psutil.NoSuchProcess):
        return process.status()
    return psutil.STATUS_ZOMBIE


@contextmanager
def _namespace(name: str) -> Iterator[str]:
    _run("ip", "netns", "add", name)
    try:
        yield name
    finally:
        _remove(name)


def _remove(name: str) -> None:
    """Delete a namespace and kill what runs in it."""
    for pid in _run("ip", "netns", "pids", name).split():
        with suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)
    _run("ip", "netns", "del", name)


def _remove_leftovers() -> None:
    """Namespaces of test processes that were killed."""
    for line in _run("ip", "netns", "list").splitlines():
        name = line.split()[0]
        owner = re.match(rf"{PREFIX}(\d+)", name)
        if owner is None or psutil.pid_exists(int(owner[1])):
            continue
        with suppress(AssertionError):  # another test process removed it first
            _remove(name)


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """This process's environment without ganboard's variables, and these."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("GANBOARD_")}
    return {**own, **variables}
