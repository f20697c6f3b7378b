"""What the trainer and its machine use at this moment."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import psutil

if TYPE_CHECKING:
    from ganboard.db.models import SystemSample


class Meter:
    """Measures this process; CPU use is the mean since the measurement before."""

    def __init__(self) -> None:
        self._process = psutil.Process(os.getpid())
        psutil.cpu_percent()  # the first call only sets the mark
        self._gpu = _gpu_handle()

    def read(self) -> dict[str, float | None]:
        """The columns of `SystemSample` that are measured, by name."""
        gpu_percent = gpu_memory = None
        if self._gpu is not None:
            import pynvml

            gpu_percent = float(pynvml.nvmlDeviceGetUtilizationRates(self._gpu).gpu)
            gpu_memory = float(pynvml.nvmlDeviceGetMemoryInfo(self._gpu).used)
        return {
            "cpu_percent": psutil.cpu_percent(),
            "rss_bytes": float(self._process.memory_info().rss),
            "memory_percent": psutil.virtual_memory().percent,
            "gpu_percent": gpu_percent,
            "gpu_memory_bytes": gpu_memory,
        }


class Sampler:
    """Takes samples of this process for a run."""

    def __init__(self, run_id: str, attempt: int) -> None:
        self._run_id, self._attempt = run_id, attempt
        self._meter = Meter()

    def sample(self) -> SystemSample:
        from ganboard.db.models import SystemSample  # not for scripts, which only measure

        measured: dict[str, Any] = self._meter.read()
        return SystemSample(run_id=self._run_id, attempt=self._attempt, **measured)


def _gpu_handle() -> object | None:
    """The first NVIDIA GPU, or None on a machine (or an installation) without one."""
    try:
        import pynvml

        pynvml.nvmlInit()
        return pynvml.nvmlDeviceGetHandleByIndex(0)  # type: ignore[no-any-return]
    except ImportError:
        return None
    except pynvml.NVMLError:
        return None
