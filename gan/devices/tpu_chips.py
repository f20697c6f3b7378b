"""TPU chips of this machine by their PCI identifiers, which are there before any driver library:
free of TensorFlow."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_GOOGLE = "0x1ae0"
# as jax/_src/hardware_utils.py lists them; v2 has the identifier of v3
_KINDS = {
    "0x0027": "v3",
    "0x005e": "v4",
    "0x0062": "v5p",
    "0x0063": "v5e",
    "0x006f": "v6e",
    "0x0076": "tpu7x",
}
# what a program sees of a chip: its two cores, or one device where both act as one
_CORES = {"v3": 2, "tpu7x": 2}


class Chips(NamedTuple):
    """TPU chips of one kind."""

    kind: str  # v3 (also of v2), v4, v5p, v5e, v6e, tpu7x
    number: int

    @property
    def cores(self) -> int:
        """Devices that TensorFlow sees of them."""
        return self.number * _CORES.get(self.kind, 1)


def find(root: Path = Path("/")) -> Chips | None:
    """The chips of this machine, None without any."""
    kinds = []
    for vendor in sorted(root.glob("sys/bus/pci/devices/*/vendor")):
        with suppress(OSError):
            if vendor.read_text().strip() == _GOOGLE:
                kinds.append(_KINDS.get(vendor.with_name("device").read_text().strip()))
    known = [kind for kind in kinds if kind]
    return Chips(known[0], len(known)) if known else None
