"""Energy that the processors took, from the counters of Intel's RAPL, which AMD has too (the Linux
kernel's documentation, "Power Capping Framework")."""

from __future__ import annotations

from pathlib import Path

ZONES = Path("/sys/class/powercap")
_PACKAGES = "intel-rapl:[0-9]*"


class Energy:
    """Joules of all processor packages since its creation."""

    def __init__(self, zones: Path = ZONES) -> None:
        # zones within a package, such as intel-rapl:0:1, are part of it
        self._packages = [zone for zone in zones.glob(_PACKAGES) if zone.name.count(":") == 1]
        self._first = self._read()

    def joules(self) -> float | None:
        """None where the counters cannot be read, as for users other than root and in most virtual
        machines."""
        now = self._read()
        if not now or not self._first:
            return None
        pairs = zip(self._packages, self._first, now, strict=True)
        return sum(_difference(zone, first, last) for zone, first, last in pairs) / 1e6

    def unreadable(self) -> str | None:
        """Why there are no joules, in words that follow "because"; None if there are."""
        if not self._packages:
            return "the kernel shows no RAPL counters in /sys/class/powercap, as in most VMs"
        if not self._first:
            return "its RAPL counters (/sys/class/powercap) are readable for root only"
        return None

    def _read(self) -> list[int]:
        """Microjoules of each package; nothing unless all can be read."""
        try:
            return [int((zone / "energy_uj").read_text()) for zone in self._packages]
        except (OSError, ValueError):
            return []


def _difference(zone: Path, first: int, last: int) -> int:
    """Counters start again at their maximum, after about an hour at full load."""
    if last >= first:
        return last - first
    return last - first + int((zone / "max_energy_range_uj").read_text())
