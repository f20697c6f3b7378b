"""What a worker's machine can train on."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from typing import Any

from ganboard.worker.process.parent_death import environment_for_child

log = logging.getLogger("ganboard.worker")


class DeviceProbe:
    """What this machine can train on, determined once in a separate process, since it loads
    TensorFlow."""

    def __init__(self) -> None:
        # a low priority, so that a first run does not start later for it
        self._process: subprocess.Popen[str] | None = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "ganboard.worker.process.exec_tied",
                "nice",
                "-n",
                "19",
                sys.executable,
                "-m",
                "ganboard.gan.devices.probe",
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment_for_child(),
        )

    def result(self) -> dict[str, Any] | None:
        """The devices, once; None before the probe has ended and afterwards."""
        if self._process is None or self._process.poll() is None:
            return None
        process, self._process = self._process, None
        answer, _ = process.communicate()
        lines = answer.strip().splitlines()
        if process.returncode or not lines:
            log.warning("The device probe ended with exit code %d.", process.returncode)
            return None
        devices: dict[str, Any] = json.loads(lines[-1])
        return devices
