"""What the trainer and its machine use at this moment."""

from __future__ import annotations

import os

import psutil

from ganboard.db.models import SystemSample


class Sampler:
    """Takes samples of this process; CPU use is the mean since the previous sample."""

    def __init__(self, run_id: str, attempt: int) -> None:
        self._run_id, self._attempt = run_id, attempt
        self._process = psutil.Process(os.getpid())
        psutil.cpu_percent()  # the first call only sets the mark
        self._gpu = _gpu_handle()

    def sample(self) -> SystemSample:
        gpu_percent = gpu_memory = None
        if self._gpu is not None:
            import pynvml

            gpu_percent = float(pynvml.nvmlDeviceGetUtilizationRates(self._gpu).gpu)
            gpu_memory = float(pynvml.nvmlDeviceGetMemoryInfo(self._gpu).used)
        return SystemSample(
            run_id=self._run_id,
            attempt=self._attempt,
            cpu_percent=psutil.cpu_percent(),
            rss_bytes=self._process.memory_info().rss,
            memory_percent=psutil.virtual_memory().percent,
            gpu_percent=gpu_percent,
            gpu_memory_bytes=gpu_memory,
        )


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
