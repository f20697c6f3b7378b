"""What each process of a run and each device of its machine uses at this moment.

Taken by the thread that renews the lease of rank 0. A process's CPU use is the mean since the
sample before. Power is a device's: no counter divides it by process.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

import psutil

from ganboard.worker.process.energy import Energy

if TYPE_CHECKING:
    from ganboard.db.models import UsageSample

TRAINER = "Trainer"
PROCESSORS = "Processors"
GPUS = "GPUs"


class Usage:
    """Samples of the processes that train a run on this machine: this one, the other ranks of its
    process group, and their children."""

    def __init__(self, run_id: str, attempt: int) -> None:
        self._run_id, self._attempt = run_id, attempt
        self._known: dict[int, psutil.Process] = {}
        self._energy = Energy()
        self._last: tuple[float, float] | None = None  # moment and joules
        self._gpus = Gpus()
        for _ in self._processes():  # the first call of cpu_percent only sets the mark
            pass

    def sample(self, at: datetime) -> list[UsageSample]:
        """A row for each process and device."""
        from ganboard.db.models import UsageSample

        memory = self._gpus.memory()
        busy = self._gpus.utilization()
        rows: list[dict[str, Any]] = [
            {
                "name": name,
                "pid": process.pid,
                "cpu_percent": percent,
                "rss_bytes": resident,
                "gpu_memory_bytes": memory.get(process.pid),
                "gpu_percent": busy.get(process.pid),
            }
            for name, process, percent, resident in self._processes()
        ]
        return [
            UsageSample(run_id=self._run_id, attempt=self._attempt, at=at, **row)
            for row in [*rows, self._processors(), *self._gpus.devices()]
        ]

    def _processes(self) -> Iterator[tuple[str, psutil.Process, float, float]]:
        """Name, process, CPU use and resident bytes of those that live; names are unique."""
        own = psutil.Process()
        ranks = [own]
        if "TF_CONFIG" in os.environ:  # the work-horse has started the others
            with contextlib.suppress(psutil.Error):
                parent = own.parent()
                siblings = parent.children() if parent else []
                others = [one for one in siblings if one != own and self._trains(one)]
                ranks += sorted(others, key=lambda one: one.pid)
        found: list[tuple[str, psutil.Process]] = []
        for place, rank in enumerate(ranks):
            name = TRAINER if len(ranks) == 1 else f"{TRAINER} {place + 1} of {len(ranks)}"
            found.append((name, rank))
            with contextlib.suppress(psutil.Error):
                children = rank.children(recursive=True)
                found += [(f"{name}: {one.name()} {one.pid}", one) for one in children]
        # those of the sample before know since when they measure; a pid may be another's now
        before, self._known = self._known, {}
        for name, process in found:
            known = before.get(process.pid)
            self._known[process.pid] = known = known if known == process else process
            with contextlib.suppress(psutil.Error):  # it has ended meanwhile
                yield name, known, known.cpu_percent(), float(known.memory_info().rss)

    def _trains(self, process: psutil.Process) -> bool:
        with contextlib.suppress(psutil.Error):
            return self._run_id in process.cmdline()
        return False

    def _processors(self) -> dict[str, Any]:
        """Watts of all processor packages since the sample before."""
        if (why := self._energy.unreadable()) is not None:
            return {"name": PROCESSORS, "note": why}
        joules, moment = self._energy.joules(), time.monotonic()
        before, self._last = self._last, (moment, joules or 0.0)
        if joules is None or before is None or moment <= before[0]:
            return {"name": PROCESSORS}
        return {"name": PROCESSORS, "watts": (joules - before[1]) / (moment - before[0])}


class Gpus:
    """The NVIDIA GPUs of this machine, through NVML."""

    def __init__(self) -> None:
        self._handles: list[Any] = []
        self._seen = 0  # microseconds of the newest utilization that was read
        self._why: str | None = None
        try:
            import pynvml

            pynvml.nvmlInit()
            count = pynvml.nvmlDeviceGetCount()
            self._handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(count)]
            self._why = None if count else "this machine has no NVIDIA GPU"
        except ImportError:
            self._why = "nvidia-ml-py is not installed (pip install nvidia-ml-py)"
        except pynvml.NVMLError as error:
            self._why = f"NVML does not start here ({error})"

    def devices(self) -> list[dict[str, Any]]:
        """A row for each GPU; one with the reason where none can be read."""
        if self._why is not None:
            return [{"name": GPUS, "note": self._why}]
        return [self._device(index, handle) for index, handle in enumerate(self._handles)]

    def memory(self) -> dict[int, float]:
        """Bytes by process. A container shows other process ids, and then there are none."""
        found: dict[int, float] = {}
        for handle in self._handles:
            for one in self._read("nvmlDeviceGetComputeRunningProcesses", handle) or []:
                if one.usedGpuMemory is not None:
                    found[one.pid] = found.get(one.pid, 0.0) + float(one.usedGpuMemory)
        return found

    def utilization(self) -> dict[int, float]:
        """Percent of a GPU's processors by process, the newest since the last call; the sum over
        GPUs."""
        newest: dict[tuple[int, int], Any] = {}
        for index, handle in enumerate(self._handles):
            for one in self._read("nvmlDeviceGetProcessUtilization", handle, self._seen) or []:
                before = newest.get((index, one.pid))
                if before is None or before.timeStamp < one.timeStamp:
                    newest[index, one.pid] = one
        found: dict[int, float] = {}
        for (_, pid), one in newest.items():
            found[pid] = found.get(pid, 0.0) + float(one.smUtil)
            self._seen = max(self._seen, int(one.timeStamp))
        return found

    def _device(self, index: int, handle: Any) -> dict[str, Any]:
        rates = self._read("nvmlDeviceGetUtilizationRates", handle)
        memory = self._read("nvmlDeviceGetMemoryInfo", handle)
        milliwatts = self._read("nvmlDeviceGetPowerUsage", handle)
        return {
            "name": f"GPU {index}",
            "gpu_percent": None if rates is None else float(rates.gpu),
            "gpu_memory_bytes": None if memory is None else float(memory.used),
            "watts": None if milliwatts is None else milliwatts / 1000,
            "note": "this GPU does not report its power" if milliwatts is None else None,
        }

    def _read(self, function: str, *arguments: Any) -> Any:
        """What NVML answers, None where this GPU or this user may not ask."""
        import pynvml

        try:
            return getattr(pynvml, function)(*arguments)
        except pynvml.NVMLError:
            return None
