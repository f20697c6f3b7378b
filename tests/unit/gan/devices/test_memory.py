"""The highest memory of a process."""

from __future__ import annotations

import subprocess
import sys

from ganboard.gan.devices.memory import peak_resident

MIB = 2**20


def test_the_peak_stays_after_the_memory_is_given_back() -> None:
    before = peak_resident()
    ballast = bytearray(b"x") * (200 * MIB)
    assert len(ballast) == 200 * MIB
    del ballast
    assert peak_resident() >= max(before, 200 * MIB)


def test_a_child_does_not_inherit_the_peak_of_its_parent() -> None:
    ballast = bytearray(b"x") * (200 * MIB)
    asked = subprocess.run(
        [
            sys.executable,
            "-c",
            "from ganboard.gan.devices.memory import peak_resident; print(peak_resident())",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    del ballast
    assert 2 * MIB < int(asked.stdout) < 100 * MIB
