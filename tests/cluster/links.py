"""The link of a host: a limited rate and lost or late packets, without netem."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from ipaddress import IPv4Address
from pathlib import Path

_RELAY = Path(__file__).with_name("relay.py")
_BURST = ("burst", "32k", "latency", "400ms")


def run(*command: str) -> str:
    """What a program printed; it must succeed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr.strip()}"
    return done.stdout


@dataclass
class Link:
    """A cable between `eth0` of a host's namespace and a port of the bridge."""

    namespace: str
    bridge: str  # the namespace of the bridge
    port: str
    delaying: subprocess.Popen[bytes] | None = None

    @property
    def ends(self) -> tuple[tuple[str, str], tuple[str, str]]:
        """Namespace and device, at the bridge and at the host."""
        return (self.bridge, self.port), (self.namespace, "eth0")

    def shape(self, *options: str) -> None:
        """Send in both directions through this `tc qdisc`."""
        for namespace, device in self.ends:
            _tc(namespace, "qdisc", "replace", "dev", device, "root", *options)

    def limit(self, rate_mbit: float) -> None:
        self.shape("tbf", "rate", f"{rate_mbit}mbit", *_BURST)

    def lose(self, percent: float) -> None:
        """Lose packets on arrival in both directions, at random and without a word to the sender.

        ARP is spared: with 100 percent connections hang, as behind a router, and get no error.
        """
        for namespace, device in self.ends:
            _drop(namespace, device, _loss_program(percent))

    def refuse(self, address: str) -> None:
        """Lose what arrives at the host from this IPv4 address, without a word to the sender."""
        _drop(self.namespace, "eth0", _source_program(address))

    def delay(self, milliseconds: float) -> None:
        """Delay packets in both directions, each by so much: a program forwards them."""
        port, inner, outer = self.port, f"{self.port}-in", f"{self.port}-out"
        add = ("link", "add", inner, "type", "veth", "peer", "name", outer)
        run("ip", "-n", self.bridge, *add)
        run("ip", "-n", self.bridge, "link", "set", outer, "master", "br0", "up")
        run("ip", "-n", self.bridge, "link", "set", inner, "arp", "off", "up")
        # no answers of the bridge's own namespace past the relay
        run("ip", "-n", self.bridge, "link", "set", port, "nomaster", "arp", "off")
        relay = [sys.executable, str(_RELAY), port, inner]
        self.delaying = subprocess.Popen(
            ["nsenter", f"--net=/run/netns/{self.bridge}", *relay, str(milliseconds / 1000)],
            stdout=subprocess.PIPE,
        )
        assert self.delaying.stdout is not None
        assert self.delaying.stdout.readline() == b"ready\n"

    def restore(self) -> None:
        """Undo all of these; nothing where there is nothing to undo."""
        if self.delaying is not None:
            with self.delaying as process:
                process.kill()
            self.delaying = None
            run("ip", "-n", self.bridge, "link", "del", f"{self.port}-in")
            run("ip", "-n", self.bridge, "link", "set", self.port, "arp", "on", "master", "br0")
        for namespace, device in self.ends:
            shown = _tc(namespace, "qdisc", "show", "dev", device)
            if "qdisc noqueue" not in shown:
                _tc(namespace, "qdisc", "del", "dev", device, "root")
            if "qdisc clsact" in shown:
                _tc(namespace, "qdisc", "del", "dev", device, "clsact")


@cache
def reason(feature: str) -> str | None:
    """Why links cannot have a `rate`, a `loss` or a `delay` here; None if they can."""
    program = f"tc filter add dev lo ingress bpf direct-action bytecode '{_loss_program(50)}'"
    scripts = {
        "rate": f"tc qdisc add dev lo root tbf rate 1mbit {' '.join(_BURST)}",
        "loss": f"tc qdisc add dev lo clsact && {program}",
        "delay": f"{sys.executable} {_RELAY} lo lo",
    }
    probe = ["unshare", "--net", "sh", "-c", scripts[feature]]
    tried = subprocess.run(probe, capture_output=True, text=True, check=False)
    if tried.returncode == 0:
        return None
    said = tried.stderr.strip().splitlines() or [f"exit status {tried.returncode}"]
    return f"links cannot have a {feature} here: {said[-1]}"


def _tc(namespace: str, *words: str) -> str:
    return run("nsenter", f"--net=/run/netns/{namespace}", "tc", *words)


def _drop(namespace: str, device: str, program: str) -> None:
    """Let a BPF program decide about each packet that arrives."""
    _tc(namespace, "qdisc", "add", "dev", device, "clsact")
    add = ("filter", "add", "dev", device, "ingress", "bpf", "direct-action")
    _tc(namespace, *add, "bytecode", program)


def _source_program(address: str) -> str:
    """Drops IPv4 packets from this address."""
    return _bytecode(
        "40 0 0 12",  # load the protocol
        "21 0 3 2048",  # not IPv4: to the last line
        "32 0 0 26",  # load the source
        f"21 0 1 {int(IPv4Address(address))}",  # another one: to the last line
        "6 0 0 2",  # drop (TC_ACT_SHOT)
        "6 0 0 0",  # pass (TC_ACT_OK)
    )


def _loss_program(percent: float) -> str:
    """Drops so many packets at random."""
    threshold = min(int(percent / 100 * 2**32), 2**32 - 1)
    return _bytecode(
        "40 0 0 12",  # load the protocol
        "21 3 0 2054",  # ARP: to the last line
        "32 0 0 4294963256",  # load a random number (SKF_AD_RANDOM)
        f"53 1 0 {threshold}",  # at least the threshold: to the last line
        "6 0 0 2",  # drop (TC_ACT_SHOT)
        "6 0 0 0",  # pass (TC_ACT_OK)
    )


def _bytecode(*instructions: str) -> str:
    """Classic BPF as tc reads it: its length, then code, jumps and operand of each instruction."""
    return ",".join([str(len(instructions)), *instructions, ""])
