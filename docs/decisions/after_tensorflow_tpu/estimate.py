"""Compiles a step for hardware that is not there, and prints what the compiler says of it.

    python docs/decisions/after_tensorflow_tpu/estimate.py TARGET REPLICAS STEP OUT.txt

TARGET is v5e:1x1, v3:2x2 or h100; STEP is an HLO file of `lower.py`, or jax-float32 or
jax-mixed_bfloat16 for the step of `step.py`. OUT.txt takes the optimised program. Estimated cycles
are those that the compiler notes beside each instruction, summed: they leave out the host and
asynchronous copies, and are not calibrated against hardware.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

os.environ |= {"JAX_PLATFORMS": "cpu", "KERAS_BACKEND": "jax"}
os.environ |= {"TPU_SKIP_MDS_QUERY": "1", "ALLOW_MULTIPLE_LIBTPU_LOAD": "1"}
os.environ["XLA_FLAGS"] = "--xla_gpu_autotune_level=0"  # autotuning would run kernels

import numpy as np
from jax._src.interpreters import mlir
from jax._src.lib import _jax, xla_client
from jax.experimental import topologies
from jaxlib.mlir import ir

HERE = Path(__file__).parent
COLLECTIVES = "all-reduce|all-gather|reduce-scatter|collective-permute|all-to-all"


def devices_of(target: str) -> list[Any]:
    if target == "h100":
        found = topologies.get_topology_desc(
            platform="cuda", target_config=(HERE / "h100.textproto").read_text(), topology="1x1x1"
        )
    else:
        alone = {"chips_per_host_bounds": (1, 1, 1)} if target.endswith(":1x1") else {}
        found = topologies.get_topology_desc(platform="tpu", topology_name=target, **alone)
    return list(found.devices)


def compiled_from_hlo(path: str, devices: list[Any]) -> Any:
    text = _jax.mlir.hlo_to_stablehlo(Path(path).read_bytes())
    options = xla_client.CompileOptions()
    options.num_replicas = len(devices)
    build = options.executable_build_options
    build.num_replicas = len(devices)
    assignment = xla_client.DeviceAssignment.create(np.array([[device.id] for device in devices]))
    options.device_assignment = assignment
    build.device_assignment = assignment
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        _erase_copies(module.operation)
        return devices[0].client.compile(
            module, executable_devices=_jax.DeviceList(tuple(devices)), compile_options=options
        )


def _erase_copies(operation: Any) -> None:
    """TensorFlow's lowering has mhlo.copy, which StableHLO lacks."""
    for region in operation.regions:
        for block in region.blocks:
            for inner in list(block.operations):
                _erase_copies(inner.operation)
                if inner.operation.name == "mhlo.copy":
                    inner.operation.results[0].replace_all_uses_with(inner.operation.operands[0])
                    inner.operation.erase()


def compiled_from_jax(precision: str, devices: list[Any]) -> Any:
    import step

    return step.lowered(precision, devices).compile().runtime_executable()


def main(target: str, replicas: str, which: str, output: str) -> None:
    devices = devices_of(target)[: int(replicas)]
    began = time.monotonic()
    used = time.process_time()
    if which.startswith("jax-"):
        executable = compiled_from_jax(which.removeprefix("jax-"), devices)
    else:
        executable = compiled_from_hlo(which, devices)
    wall = time.monotonic() - began
    used = time.process_time() - used

    text = executable.hlo_modules()[0].to_string()
    Path(output).write_text(text)
    memory = executable.get_compiled_memory_stats()
    cycles = sum(map(int, re.findall(r'estimated_cycles":"(\d+)"', text)))
    collectives = Counter(re.findall(rf" ({COLLECTIVES})(?:-start)?\(", text))
    entry = text[text.index("ENTRY") :]
    print(f"{target}, {replicas} replicas, {which}")
    print(f"  compile {wall:.0f} s, {used:.0f} s of CPU time")
    print(
        f"  arguments {memory.argument_size_in_bytes / 1e6:.1f} MB,"
        f" temporaries {memory.temp_size_in_bytes / 1e6:.1f} MB,"
        f" code {memory.generated_code_size_in_bytes / 1e6:.1f} MB"
    )
    print(f"  estimated cycles {cycles:,}" if cycles else "  no estimated cycles")
    fusions = len(re.findall(r" fusion\(", entry))
    calls = Counter(re.findall(r'custom_call_target="([^"]*)"', text))
    print(f"  {fusions} fusions, collectives {dict(collectives)}, calls {dict(calls)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
