"""`ganboard doctor --accelerator`: the devices that TensorFlow finds here, whether their drivers
suit it, products on them, and what of a training step runs elsewhere."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Any

from ganboard.db.settings import Settings
from ganboard.gan.devices import tpu_chips
from ganboard.gan.devices.hardware import devices
from ganboard.worker.doctor.check import Check
from ganboard.worker.errors import ServiceFailed
from ganboard.worker.formatting import size
from ganboard.worker.process import json_child

PRODUCTS = ("-m", "ganboard.gan.verification.products")
STEPS = ("-m", "ganboard.gan.verification.steps")
LIMIT_SECONDS = 180.0  # of one process; a TPU's first connection takes tens of seconds
_COMPATIBLE = re.compile(r"libtpu ?~= ?(?P<version>\d+(\.\d+)+)")
_TENSORFLOW = ("tensorflow", "tensorflow-cpu", "tensorflow-tpu", "tf-nightly")
_QUERY = "--query-gpu=name,memory.total,driver_version"
_SHOWN = 4  # operations that are named
# The least driver by the major version of CUDA that TensorFlow was built with (NVIDIA, "CUDA
# Compatibility", minor version compatibility)
_DRIVERS = {11: 450, 12: 525, 13: 580}


@dataclass(frozen=True)
class Seen:
    """What is here without TensorFlow."""

    packages: Mapping[str, str]  # of TensorFlow, by name
    libtpu: str | None
    chips: tpu_chips.Chips | None
    nvidia: tuple[tuple[str, ...], ...] | None  # a row per GPU; None without nvidia-smi


def look() -> Seen:
    """Within a second."""
    packages = {name: found for name in _TENSORFLOW if (found := _version(name))}
    return Seen(packages, _version("libtpu"), tpu_chips.find(), _nvidia())


def checks(settings: Settings) -> Iterator[Check]:
    """All findings; each process that needs TensorFlow is a child of ours."""
    seen = look()
    yield packages(seen)
    try:
        found = json_child.ask(PRODUCTS, LIMIT_SECONDS)
    except ServiceFailed as error:
        yield Check("devices", "fail", f"TensorFlow cannot be asked: {error}", install(seen, {}))
        return
    yield from libraries(seen)
    yield from drivers(seen, found["build"])
    yield present(seen, found)
    for product in found["products"]:
        yield multiplied(product)
    yield placement(settings, found)


def packages(seen: Seen) -> Check:
    """One TensorFlow, and not several that overwrite each other's files."""
    text = ", ".join(f"{name} {found}" for name, found in seen.packages.items())
    if seen.libtpu:
        text += f", libtpu {seen.libtpu}"
    if not seen.packages:
        return Check("tensorflow", "fail", "not installed", install(seen, {}))
    if len(seen.packages) > 1:
        return Check(
            "tensorflow",
            "fail",
            f"{text}: these packages overwrite each other's files",
            f"`pip uninstall {' '.join(seen.packages)}`, then: {install(seen, {})}",
        )
    return Check("tensorflow", "ok", text)


def libraries(seen: Seen) -> Iterator[Check]:
    """The TPU's driver library beside what TensorFlow asks for."""
    if not seen.libtpu or "tensorflow-tpu" not in seen.packages:
        return
    asked = [text for text in requires("tensorflow-tpu") or () if text.startswith("libtpu")]
    wanted = _COMPATIBLE.fullmatch(asked[0]) if asked else None
    text = f"libtpu {seen.libtpu}"
    if wanted is None:
        yield Check("libtpu", "ok", text)
    elif _compatible(seen.libtpu, wanted["version"]):
        yield Check("libtpu", "ok", f"{text}, tensorflow-tpu asks for {asked[0]}")
    else:
        said = f"{text}, but tensorflow-tpu asks for {asked[0]}"
        yield Check("libtpu", "fail", said, f"Install it: `pip install '{asked[0]}'`")


def drivers(seen: Seen, build: Mapping[str, str]) -> Iterator[Check]:
    """NVIDIA's driver and CUDA libraries beside what TensorFlow was built with."""
    if seen.nvidia is None:
        return
    driver = seen.nvidia[0][2] if seen.nvidia else "unknown"
    cuda = build.get("cuda_version", "")
    text = f"NVIDIA driver {driver}, TensorFlow built with CUDA {cuda or '-'}"
    if cuda and build.get("cudnn_version"):
        text += f" and cuDNN {build['cudnn_version']}"
    least = _DRIVERS.get(_number(cuda))
    if least and _number(driver) < least:
        remedy = f"CUDA {_number(cuda)} needs driver {least} or newer: update NVIDIA's driver."
        yield Check("driver", "fail", text, remedy)
    else:
        yield Check("driver", "ok", text)
    installed, built = _version("nvidia-cudnn-cu12") or "", build.get("cudnn_version", "")
    if installed and built and _number(installed) < _number(built):
        yield Check(
            "cudnn",
            "warn",
            f"nvidia-cudnn-cu12 {installed} is older than cuDNN {built}, which TensorFlow expects",
            "Install what it asks for: `pip install 'tensorflow[and-cuda]'`",
        )


def present(seen: Seen, found: Mapping[str, Any]) -> Check:
    """Kind, number and memory of the accelerators, or what keeps TensorFlow from finding them."""
    hardware = found["hardware"]
    if problem := found.get("tpu_problem"):
        return Check("devices", "fail", str(problem), install(seen, found["build"]))
    memory = [gpu["memory_bytes"] for gpu in hardware["gpus"] if gpu.get("memory_bytes")]
    text = devices(hardware) + (f", {size(min(memory))} each" if memory else "")
    if hardware["tpus"] and (chips := hardware.get("tpu_chips")):
        text += f", TPU {chips['kind']}"
    if hardware["gpus"] or hardware["tpus"]:
        return Check("devices", "ok", text)
    if remedy := install(seen, found["build"]):
        what = (
            f"{seen.chips.number} TPU {seen.chips.kind} chips"
            if seen.chips
            else f"{len(seen.nvidia or ())} NVIDIA GPUs"
        )
        return Check("devices", "fail", f"{what} are here, but TensorFlow finds none", remedy)
    return Check("devices", "ok", f"no accelerator: TensorFlow trains on {text}")


def install(seen: Seen, build: Mapping[str, str]) -> str:
    """One sentence on what to install for the devices that are seen; empty where there are none
    and TensorFlow is here."""
    present = " ".join(seen.packages)
    if seen.chips:
        if "tensorflow-tpu" not in seen.packages:
            first = f"`pip uninstall {present}`, then install" if present else "Install"
            return f"{first} TensorFlow for TPUs with its driver: `pip install 'ganboard[tpu]'`."
        if not seen.libtpu:
            return "The TPU's driver library is missing: `pip install 'ganboard[tpu]'`."
        return (
            f"libtpu {seen.libtpu} may not suit tensorflow-tpu {seen.packages['tensorflow-tpu']}:"
            " end other processes on the TPU, then try an older libtpu (docs/first-day.md)."
        )
    if seen.nvidia:
        if build.get("is_cuda_build") == "True":
            return (
                "TensorFlow does not find the libraries of CUDA: install them with it, `pip install"
                " 'ganboard[gpu]'`."
            )
        first = f"`pip uninstall {present}`, then install" if present else "Install"
        return f"{first} TensorFlow for GPUs with CUDA: `pip install 'ganboard[gpu]'`."
    return "" if seen.packages else "Install TensorFlow: `pip install 'ganboard[cpu]'`."


def multiplied(product: Mapping[str, Any]) -> Check:
    """A product in one number format: right, and how fast."""
    name = f"product {product['precision']}"
    if problem := product.get("problem"):
        return Check(name, "warn", f"not possible on {product['device']}: {problem}", _AVOID)
    text = (
        f"{product['gflops'] / 1e3:,.3g} TFLOP/s on {product['device']}, relative error"
        f" {product['error']:.1e}{rounding(product)}"
    )
    if product["error"] <= product["bound"]:
        return Check(name, "ok", text)
    return Check(name, "fail", f"{text}, more than {product['bound']:.0e}", _AVOID)


_AVOID = "Train in another precision on this device."


def rounding(product: Mapping[str, Any]) -> str:
    """What the error of a float32 product says of how the device multiplies."""
    if product["precision"] != "float32" or product["error"] < 1e-5:
        return ""
    return " (TensorFloat-32)" if product["error"] < 1e-3 else " (rounded to bfloat16)"


def placement(settings: Settings, found: Mapping[str, Any]) -> Check:
    """What of one training step does not run on the accelerator."""
    cores = len(found["hardware"]["tpus"])
    changes = {"strategy": "tpu", "replicas": cores} if cores else {}
    config = {"dataset": "digits", "batch_size": 8 * max(1, cores), **changes}
    job = {"config": config, "data_dir": str(settings.data), "steps": 1}
    try:
        step = json_child.ask([*STEPS, json.dumps(job)], LIMIT_SECONDS)
    except ServiceFailed as error:
        return Check("placement", "fail", f"a training step failed: {error}", "See the message.")
    if problem := step.get("problem"):
        return Check("placement", "fail", f"a training step failed: {problem}", "See the message.")
    return placed(step)


def placed(step: Mapping[str, Any]) -> Check:
    """The finding of a step that was taken."""
    ready = f"a training step takes its first {step['compile_seconds']:.1f} s"
    off = step.get("off_accelerator")
    if problem := step.get("placement_problem"):
        return Check("placement", "warn", f"{ready}; unknown where it runs ({problem})")
    if off is None:
        return Check("placement", "ok", f"{ready}; there is no accelerator")
    if not off:
        return Check("placement", "ok", f"{ready}; all of it runs on the accelerator")
    more = f" and {len(off) - _SHOWN} more" if len(off) > _SHOWN else ""
    return Check("placement", "ok", f"{ready}; elsewhere: {', '.join(off[:_SHOWN])}{more}")


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _compatible(found: str, wanted: str) -> bool:
    """Whether a version is a compatible release (PEP 440, ~=) of another."""
    one, other = (
        [int(part) for part in text.split(".")[:4] if part.isdigit()] for text in (found, wanted)
    )
    return one[: len(other) - 1] == other[:-1] and one >= other


def _number(text: str) -> int:
    """The first number of a version; 0 without any."""
    head = text.partition(".")[0]
    return int(head) if head.isdigit() else 0


def _nvidia() -> tuple[tuple[str, ...], ...] | None:
    """Name, memory and driver of each GPU, as nvidia-smi says."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return None
    try:
        asked = subprocess.run(
            [program, _QUERY, "--format=csv,noheader"], capture_output=True, text=True, timeout=20
        )
    except (OSError, subprocess.TimeoutExpired):
        return ()
    rows = [tuple(cell.strip() for cell in line.split(",")) for line in asked.stdout.splitlines()]
    return tuple(row for row in rows if len(row) == 3) if asked.returncode == 0 else ()
