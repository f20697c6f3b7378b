"""What this machine has: `python -m ganboard.gan.devices.hardware` prints it as one JSON line."""

from __future__ import annotations

import json
import os
import platform
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Any

import psutil

from ganboard.gan.devices import tpu_chips

CPU_FLAGS = ("avx2", "avx512_bf16", "avx512_fp16", "amx_bf16")


def describe() -> dict[str, Any]:
    """Host, CPU, memory, accelerators and versions, JSON-ready; starts TensorFlow."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    import tensorflow as tf

    return {
        **machine(),
        "gpus": _gpus(),
        **_tpus([device.name for device in tf.config.list_physical_devices("TPU")]),
        "versions": versions(),
    }


def machine() -> dict[str, Any]:
    """Host, CPU and memory, JSON-ready; does not start TensorFlow."""
    return {
        "host": platform.node(),
        "cpu": _cpu()[0],
        "cores": (
            len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        ),
        "memory_bytes": memory_limit(),
        "cpu_flags": cpu_flags(),
    }


def devices(hardware: Mapping[str, Any]) -> str:
    """What computes on a machine that `describe` has described: its accelerators, else its
    processor and cores."""
    if gpus := hardware.get("gpus"):
        counts = Counter(str(gpu.get("name", "GPU")) for gpu in gpus)
        return ", ".join(
            f"{count} × {name}" if count > 1 else name for name, count in counts.items()
        )
    if tpus := hardware.get("tpus"):
        return f"{len(tpus)} TPU cores"
    return f"{hardware.get('cpu', 'unknown')}, {hardware.get('cores', '?')} cores"


def cpu_flags() -> list[str]:
    """Those of CPU_FLAGS that this machine's processor has; does not start TensorFlow."""
    flags = _cpu()[1]
    return [flag for flag in CPU_FLAGS if flag in flags]


def memory_limit(root: Path = Path("/")) -> int:
    """Bytes of memory that this process may use: the machine's, or less where a control group (a
    container, say) has a limit.

    The kernel ends what exceeds memory.max (cgroup v2) or memory.limit_in_bytes (v1), of the
    process's own group or any above it.
    """
    texts = [
        text for name in ("memory.max", "memory.limit_in_bytes") for text in _of_groups(name, root)
    ]
    # "max" is no limit, and v1's is a huge number
    return min(
        [psutil.virtual_memory().total, *(int(text) for text in texts if text.strip().isdigit())]
    )


def oom_kills(root: Path = Path("/")) -> int:
    """Number of processes that the kernel has killed for lack of memory in this process's control
    group; 0 if it does not count.

    Whatever the limit that ran out (the group's, one above it, the machine's), the kernel counts
    for the victim's own group: in memory.events.local (cgroup v2) or memory.oom_control (v1).
    Outside any group, the machine's count.
    """
    names = ("memory.events.local", "memory.oom_control")
    own = next((text for name in names for text in _of_groups(name, root)), None)
    machine = root / "proc/vmstat"
    text = own or (machine.read_text() if machine.exists() else "")
    return int(dict(line.split(" ", 1) for line in text.splitlines()).get("oom_kill", 0))


def _of_groups(name: str, root: Path) -> Iterator[str]:
    """The texts of a file of the memory controller: of this process's control group, then of each
    group above it, where they have it."""
    own = root / "proc/self/cgroup"
    # "0::/path" of v2, "4:memory:/path" of v1
    for line in own.read_text().splitlines() if own.exists() else []:
        number, controllers, path = line.split(":", 2)
        if number != "0" and "memory" not in controllers.split(","):
            continue
        top = root / ("sys/fs/cgroup" if number == "0" else "sys/fs/cgroup/memory")
        # a container may see the host's path and have its own group mounted at the top
        group = PurePosixPath(path.lstrip("/"))
        yield from (
            file.read_text()
            for folder in (group, *group.parents)
            if (file := top / folder / name).exists()
        )


def versions() -> dict[str, str]:
    """Versions of everything that decides the bits of a result."""
    found = {"python": platform.python_version()}
    for name in ("tensorflow", "keras", "numpy"):
        for package in (name, f"{name}-cpu", f"{name}-tpu"):
            try:
                found[name] = version(package)
                break
            except PackageNotFoundError:
                continue
    return found


def _cpu() -> tuple[str, set[str]]:
    info = Path("/proc/cpuinfo")
    if not info.exists():
        return platform.processor() or platform.machine(), set()
    pairs = [line.partition(":") for line in info.read_text().splitlines() if ":" in line]
    # reversed: the first processor wins
    fields = {key.strip(): value.strip() for key, _, value in reversed(pairs)}
    return fields.get("model name") or platform.machine(), set(
        (fields.get("flags") or fields.get("Features") or "").split()
    )


def _tpus(listed: list[str]) -> dict[str, Any]:
    """Cores and chips of a TPU. TensorFlow may list its cores only once a process has connected to
    them; with a driver for them installed, they are counted by their chips."""
    chips = tpu_chips.find()
    if not listed and chips and find_spec("libtpu"):
        listed = [f"TPU:{core}" for core in range(chips.cores)]
    found: dict[str, Any] = {"tpus": listed}
    return {**found, "tpu_chips": chips._asdict()} if listed and chips else found


def _gpus() -> list[dict[str, Any]]:
    import tensorflow as tf

    names = [
        tf.config.experimental.get_device_details(gpu).get("device_name", gpu.name)
        for gpu in tf.config.list_physical_devices("GPU")
    ]
    if not names:
        return []
    try:
        import pynvml

        pynvml.nvmlInit()
        memory = [
            pynvml.nvmlDeviceGetMemoryInfo(pynvml.nvmlDeviceGetHandleByIndex(i)).total
            for i in range(len(names))
        ]
    # NVML is missing on AMD machines and in some containers: only the names are available there
    except Exception:
        memory = [None] * len(names)
    return [
        {"name": name, "memory_bytes": total} for name, total in zip(names, memory, strict=True)
    ]


if __name__ == "__main__":
    print(json.dumps(describe()))  # noqa: T201
