"""Accelerators that the training step can be compiled for without having them, with what is known
of them. Free of TensorFlow.

Memory, peak and clock are the makers' figures. TPU: Jouppi et al. 2020, "A domain-specific
supercomputer for training deep neural networks", table 3 (v2, v3); Jouppi et al. 2023, "TPU v4",
table 4 (v4); Google Cloud's pages of TPU v5e, v5p and v6e (memory, peak), whose clocks follow from
the peak of their matrix units (Austin et al. 2025, "How to scale your model", chapter 2). GPU:
NVIDIA's data sheets of H100 SXM, A100 SXM 80 GB and T4.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ganboard.gan.config import ConfigError, RunConfig, parse

Form = Literal[
    "step", "gradients"
]  # the whole step in one program, or its gradient functions alone

GIB = 2**30
MAX_TARGETS = 16
MAX_GPUS = 8  # of one machine


@dataclass(frozen=True)
class Family:
    """One kind of device."""

    kind: Literal["tpu", "gpu"]
    title: str
    memory_bytes: int  # of what runs one replica
    clock_hz: float
    peak_flops: Mapping[str, float]  # by precision; of what runs one replica
    bandwidth: float  # of its memory, bytes per second
    link: float  # bytes per second that a replica sends to others, all its links together
    slices: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)  # replicas -> topology
    chip: str = ""  # what a slice consists of
    gpu: Mapping[str, Any] = field(default_factory=dict)  # GpuDeviceInfoProto of a GPU


@dataclass(frozen=True)
class Target:
    """So many devices of a family."""

    name: str
    family: str
    devices: int  # one replica each

    @property
    def about(self) -> Family:
        return FAMILIES[self.family]

    @property
    def title(self) -> str:
        if self.about.kind == "gpu":
            return f"{self.devices} {self.about.title}" if self.devices > 1 else self.about.title
        return f"{self.about.title}, {self.devices} {self.about.chip}{'s'[: self.devices > 1]}"

    def topology(self) -> dict[str, Any]:
        """What the compiler has to know of the devices: arguments of
        `jax.experimental.topologies.get_topology_desc`."""
        about = self.about
        if about.kind == "gpu":
            return {
                "platform": "cuda",
                "topology": f"1x1x{self.devices}",
                "target_config": _gpu_config(about),
            }
        return {"platform": "tpu", **about.slices[self.devices]}

    def adapted(self, config: RunConfig) -> RunConfig:
        """`config` on this target: its strategy and replicas. Raises ConfigError where it cannot
        divide among them."""
        kind = self.about.kind
        strategy = "tpu" if kind == "tpu" else "mirrored" if self.devices > 1 else "default"
        values = {"strategy": strategy, "replicas": self.devices, "loop": "custom"}
        try:
            return parse({**config.model_dump(mode="json"), **values})
        except ConfigError as error:
            raise ConfigError(f"{self.name}: {error}") from None


def _tpu(shape: str, **options: Any) -> dict[str, Any]:
    return {"topology_name": shape, **options}


_BF16 = "mixed_bfloat16"
# Matrix units multiply bfloat16; float32 products at XLA's default precision are rounded to it
# first, so that they have the same peak.
FAMILIES = {
    "v2": Family(
        "tpu", "TPU v2", 8 * GIB, 700e6, {_BF16: 23e12}, 350e9, 62.5e9 * 2,
        {1: _tpu("v2:2x2"), 8: _tpu("v2:2x2")}, "core",
    ),
    "v3": Family(
        "tpu", "TPU v3", 16 * GIB, 940e6, {_BF16: 61.5e12}, 450e9, 82e9 * 2,
        {1: _tpu("v3:2x2"), 8: _tpu("v3:2x2")}, "core",
    ),
    "v4": Family(
        "tpu", "TPU v4", 16 * GIB, 1050e6, {_BF16: 137.5e12}, 614e9, 150e9,
        {1: _tpu("v4:2x2x1"), 8: _tpu("v4:2x2x1")}, "core",
    ),
    "v5e": Family(
        "tpu", "TPU v5e", 16 * GIB, 1500e6, {_BF16: 197e12}, 819e9, 200e9,
        {
            1: _tpu("v5e:1x1", chips_per_host_bounds=[1, 1, 1]),
            4: _tpu("v5e:2x2"),
            8: _tpu("v5e:2x4"),
            16: _tpu("v5e:4x4"),
        },
        "chip",
    ),
    "v6e": Family(
        "tpu", "TPU v6e", 32 * GIB, 1750e6, {_BF16: 918e12}, 1640e9, 448e9,
        {1: _tpu("v6e:1x1", chips_per_host_bounds=[1, 1, 1]), 4: _tpu("v6e:2x2")}, "chip",
    ),
    "h100": Family(
        "gpu", "H100 SXM 80 GB", 80 * GIB, 1980e6,
        {"float32": 494e12, _BF16: 989e12, "mixed_float16": 989e12}, 3352e9, 450e9,
        gpu={
            "core_count": 132, "fpus_per_core": 128, "clock_rate_ghz": 1.98, "threads": 2048,
            "memory_bandwidth": 3352320000000, "l2_cache_size": 52428800,
            "device_memory_size": 84929347584, "shared_memory_per_core": 233472,
            "shared_memory_optin": 232448, "capability": (9, 0), "name": "NVIDIA H100 80GB HBM3",
        },
    ),
    "a100": Family(
        "gpu", "A100 SXM 80 GB", 80 * GIB, 1410e6,
        {"float32": 156e12, _BF16: 312e12, "mixed_float16": 312e12}, 2039e9, 300e9,
        gpu={
            "core_count": 108, "fpus_per_core": 64, "clock_rate_ghz": 1.41, "threads": 2048,
            "memory_bandwidth": 2039000000000, "l2_cache_size": 41943040,
            "device_memory_size": 84974239744, "shared_memory_per_core": 167936,
            "shared_memory_optin": 166912, "capability": (8, 0), "name": "NVIDIA A100-SXM4-80GB",
        },
    ),
    "t4": Family(
        "gpu", "T4 16 GB", 15 * GIB, 1590e6, {"float32": 8.1e12, "mixed_float16": 65e12},
        320e9, 16e9,
        gpu={
            "core_count": 40, "fpus_per_core": 64, "clock_rate_ghz": 1.59, "threads": 1024,
            "memory_bandwidth": 320000000000, "l2_cache_size": 4194304,
            "device_memory_size": 15843721216, "shared_memory_per_core": 65536,
            "shared_memory_optin": 65536, "capability": (7, 5), "name": "Tesla T4",
        },
    ),
}  # fmt: skip

_NAME = re.compile(r"(?P<tpu>v\d+[a-z]?)-(?P<chips>\d{1,4})|((?P<gpus>\d{1,4})x)?(?P<gpu>[a-z]\d+)")


def parse_targets(text: str) -> list[Target]:
    """The targets of `v5e-1,4xh100`, each once. Raises ConfigError."""
    names = [name.strip().lower() for name in text.split(",") if name.strip()]
    if not names:
        raise ConfigError(f"No target is given: use some of {', '.join(known())}.")
    targets = {name: _target(name) for name in names}
    if len(targets) > MAX_TARGETS:
        raise ConfigError(f"{len(targets)} targets are too many: give at most {MAX_TARGETS}.")
    return list(targets.values())


def known() -> list[str]:
    """Names of targets, for messages."""
    found = []
    for name, family in FAMILIES.items():
        found += (
            [f"{name}-{devices}" for devices in family.slices]
            if family.kind == "tpu"
            else [name, f"4x{name}"]
        )
    return found


def _target(name: str) -> Target:
    said = _NAME.fullmatch(name)
    family = (said["tpu"] or said["gpu"]) if said else None
    if said is None or family not in FAMILIES or bool(said["tpu"]) != bool(FAMILIES[family].slices):
        raise ConfigError(f"Unknown target {name[:40]!r}: use one of {', '.join(known())}.")
    if said["gpu"]:
        gpus = int(said["gpus"] or 1)
        if not 1 <= gpus <= MAX_GPUS:
            raise ConfigError(f"{name}: use 1 to {MAX_GPUS} GPUs, such as 4x{family}.")
        return Target(name, family, gpus)
    devices = int(said["chips"])
    if devices not in FAMILIES[family].slices:
        sizes = ", ".join(f"{family}-{size}" for size in FAMILIES[family].slices)
        raise ConfigError(f"The compiler has no topology {name}: use one of {sizes}.")
    return Target(name, family, devices)


def _gpu_config(family: Family) -> str:
    """XLA's GpuTargetConfigProto as text; without a GPU it cannot be read off one."""
    gpu = family.gpu
    major, minor = gpu["capability"]
    return f"""
gpu_device_info {{
  threads_per_block_limit: 1024
  threads_per_warp: 32
  shared_memory_per_block: 49152
  shared_memory_per_core: {gpu["shared_memory_per_core"]}
  threads_per_core_limit: {gpu["threads"]}
  core_count: {gpu["core_count"]}
  fpus_per_core: {gpu["fpus_per_core"]}
  block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535
  block_dim_limit_z: 65535
  memory_bandwidth: {gpu["memory_bandwidth"]}
  l2_cache_size: {gpu["l2_cache_size"]}
  clock_rate_ghz: {gpu["clock_rate_ghz"]}
  device_memory_size: {gpu["device_memory_size"]}
  shared_memory_per_block_optin: {gpu["shared_memory_optin"]}
  cuda_compute_capability {{ major: {major} minor: {minor} }}
  registers_per_core_limit: 65536
  registers_per_block_limit: 65536
}}
platform_name: "CUDA"
dnn_version_info {{ major: 9 minor: 7 }}
runtime_version {{ major: 12 minor: 8 patch: 0 }}
device_description_str: "{gpu["name"]}"
"""
