"""Compile one XLA program ahead of time for a device that is not here.

Run by the interpreter of the environment that `worker.rehearsal.environment` makes, with JAX's
compilers and nothing of ours: `python aot.py JOB.json`, where the job names the program (`hlo`),
the `topology`, the `replicas` and the folder of results (`cache`).
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import resource
import sys
import sysconfig
import time
from importlib.metadata import distributions, version
from pathlib import Path
from typing import Any

os.environ.update(
    # ptxas of this environment, not of a CUDA that may or may not be installed
    PATH=f"{sysconfig.get_path('platlib')}/nvidia/cuda_nvcc/bin:{os.environ['PATH']}",
    JAX_PLATFORMS="cpu",
    TPU_SKIP_MDS_QUERY="1",  # ask no metadata server what machine this is
    ALLOW_MULTIPLE_LIBTPU_LOAD="1",  # several processes may compile, none runs anything
    XLA_FLAGS="--xla_gpu_autotune_level=0",  # autotuning measures on the device
)

import jax
import numpy as np
from jax._src.interpreters import mlir  # jax has no public way to compile a given program
from jax._src.lib import _jax, xla_client
from jax.experimental import topologies
from jaxlib.mlir import ir

_REASON = 600  # characters of a refusal that are kept
_COMPILER = re.compile(r"^(jax|libtpu|nvidia)")


def main(path: Path) -> None:
    """Write the result of a job, or the compiler's reason, unless it is there already: results are
    kept by digest, and the last line of stdout is the path."""
    job = json.loads(path.read_text())
    began = time.monotonic()
    with mlir.make_ir_context():
        module = ir.Module.parse(_jax.mlir.hlo_to_stablehlo(Path(job["hlo"]).read_bytes()))
        _drop_copies(module.operation)
        result = Path(job["cache"]) / f"{_digest(job, module)}.json"
        if not result.exists():
            found: dict[str, Any] = {"jax": jax.__version__, "at": time.time()}
            try:
                found |= _compile(job, module, result.with_suffix(".hlo.gz"))
            # jaxlib raises kinds of its own for what a compiler refuses
            except Exception as error:
                found["reason"] = _sentence(error)
            usage = resource.getrusage(resource.RUSAGE_SELF)
            found["compile_seconds"] = round(time.monotonic() - began, 1)
            found["cpu_seconds"] = round(usage.ru_utime + usage.ru_stime, 1)
            found["compiler_memory"] = usage.ru_maxrss * 1024
            written = result.with_suffix(f".{os.getpid()}")
            written.write_text(json.dumps(found))
            written.rename(result)
    sys.stdout.write(f"{result}\n")


def _digest(job: dict[str, Any], module: Any) -> str:
    """Of what decides the result: the program without the names that TensorFlow counts up, the
    devices and the compilers."""
    versions = sorted(f"{d.name} {d.version}" for d in distributions() if _COMPILER.search(d.name))
    parts = [str(module), job["topology"], job["replicas"], versions, os.environ["XLA_FLAGS"]]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _compile(job: dict[str, Any], module: Any, text: Path) -> dict[str, Any]:
    devices = topologies.get_topology_desc(**job["topology"]).devices
    replicas = job["replicas"]
    if len(devices) < replicas:
        raise ValueError(f"the topology has {len(devices)} devices, not {replicas}")
    devices = devices[:replicas]
    options = xla_client.CompileOptions()
    assignment = xla_client.DeviceAssignment.create(np.array([[d.id] for d in devices]))
    for one in (options, options.executable_build_options):
        one.num_replicas = replicas
        one.num_partitions = 1
        one.device_assignment = assignment
    client = devices[0].client
    executable = client.compile(
        module, executable_devices=_jax.DeviceList(tuple(devices)), compile_options=options
    )
    with gzip.open(text, "wt") as file:
        file.write(executable.hlo_modules()[0].to_string())
    memory = executable.get_compiled_memory_stats()
    return {
        "compiler": _compiler(devices[0].platform),
        "device_kind": devices[0].device_kind,
        "arguments": memory.argument_size_in_bytes,
        "temporaries": memory.temp_size_in_bytes,
        "outputs": memory.output_size_in_bytes - memory.alias_size_in_bytes,
        "code": memory.generated_code_size_in_bytes,
    }


def _compiler(platform: str) -> str:
    if platform == "tpu":
        return f"libtpu {version('libtpu')}"
    return f"XLA of jaxlib {version('jaxlib')}"


def _drop_copies(operation: Any) -> None:
    """Erase every mhlo.copy, which compilers refuse in StableHLO and which computes nothing."""
    found = []

    def visit(operation: Any) -> None:
        for region in operation.regions:
            for block in region.blocks:
                for each in block.operations:
                    visit(each.operation)
                    if each.operation.name == "mhlo.copy":
                        found.append(each.operation)

    visit(operation)
    for copy in found:
        copy.results[0].replace_all_uses_with(copy.operands[0])
        copy.erase()


def _sentence(error: Exception) -> str:
    """The compiler's reason on one line, without its traces."""
    text = str(error).partition("=== Source Location Trace")[0]
    return re.sub(r"\s+", " ", text).strip()[:_REASON] or type(error).__name__


if __name__ == "__main__":
    main(Path(sys.argv[1]))
