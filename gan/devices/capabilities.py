"""What this machine and this version can run. Free of TensorFlow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ganboard.gan.config import RunConfig
from ganboard.gan.costs import estimate

MAX_LOGICAL_REPLICAS = 64
# more than one shows that the result is right, on a machine that has no more cores
PROCESSES_PER_CORE = 4
# without them products in bfloat16 are emulated
_BFLOAT16_FLAGS = frozenset({"avx512_bf16", "amx_bf16"})
# TensorFlow, the data and small networks in each process with strategy=multi_worker (measured: 650
# MiB)
PROCESS_BYTES = 700 * 2**20


def check(config: RunConfig, devices: dict[str, Any]) -> str | None:
    """One sentence when `config` cannot run here, else None; `devices` as of
    `gan.devices.hardware.describe` (`gpus` and `tpus` are read)."""
    gpus, tpus = len(devices["gpus"]), len(devices["tpus"])
    here = config.replicas // config.hosts
    strategy = config.effective_strategy
    if config.precision == "mixed_float16" and (strategy == "tpu" or gpus < here):
        found = f"{gpus} GPU(s) were found" if gpus else "none was found"
        needed = "a GPU" if here == 1 else f"{here} GPUs, one for each replica,"
        return (
            f"precision=mixed_float16 needs {needed} and {found}: use mixed_bfloat16, which runs"
            " everywhere, or float32."
        )
    if strategy == "tpu":
        if config.loop == "fit":
            return (
                "loop=fit is not available with strategy=tpu: use loop=custom, which trains the"
                " same networks with its own loop."
            )
        if config.replicas > tpus:
            found = f"{tpus} TPU core(s) were found" if tpus else "no TPU was found"
            return (
                f"strategy=tpu with replicas={config.replicas} needs as many TPU cores and {found}:"
                " use strategy=mirrored or auto."
            )
        return None
    if strategy == "multi_worker":
        sentence = too_many_processes(
            config.processes, devices.get("cores", 2**20), devices.get("memory_bytes", 2**60)
        )
        if sentence:
            return sentence
    if strategy == "mirrored" and config.replicas > max(gpus, MAX_LOGICAL_REPLICAS):
        return (
            f"replicas={config.replicas} is more than this machine can carry ({gpus} GPU(s) found,"
            f" and at most {MAX_LOGICAL_REPLICAS} replicas on logical CPU devices): lower replicas"
            f" to {max(gpus, MAX_LOGICAL_REPLICAS)} or less."
        )
    return estimate.too_large(config, devices)


def too_many_processes(count: int, cores: int, memory_bytes: int) -> str | None:
    """One sentence if the run has more processes than the machine can run."""
    by_cores, by_memory = PROCESSES_PER_CORE * cores, memory_bytes // PROCESS_BYTES
    most = max(1, min(by_cores, by_memory))
    if count <= most:
        return None
    limit = (
        f"its {cores} cores carry {PROCESSES_PER_CORE} each"
        if by_cores < by_memory
        else f"its memory of {memory_bytes / 1e9:.1f} GB lasts"
    )
    remedy = f"lower replicas to {most} or less, or use" if most > 1 else "use"
    return (
        f"strategy=multi_worker with replicas={count} needs {count} processes on one machine, more"
        f" than it can carry: {limit} for {most}; {remedy} strategy=mirrored, which needs one"
        " process."
    )


def gainless(config: RunConfig, devices: Mapping[str, Any]) -> set[str]:
    """Settings of `config` that are meant to save time and save none on these devices."""
    gpus = len(devices.get("gpus") or ())
    accelerated = gpus or devices.get("tpus")
    found = set()
    if config.xla and not accelerated:
        found.add("xla")
    if config.precision == "mixed_bfloat16" and not accelerated and bfloat16_is_slow(devices):
        found.add("precision")
    here = config.replicas // config.hosts
    if here > 1 and gpus < here and config.effective_strategy != "tpu":
        found.add("replicas")
    return found


def bfloat16_is_slow(devices: Mapping[str, Any]) -> bool:
    """Whether a processor multiplies float32 faster than bfloat16: as `gan.devices.probe` measured
    it, and before that by its instructions."""
    if rates := devices.get("cpu_rates"):
        return bool(rates["mixed_bfloat16"] < rates["float32"])
    flags = set(devices.get("cpu_flags", _BFLOAT16_FLAGS))
    # Intel's processors with AMX have both: where a hypervisor hides AMX, AVX-512's own instruction
    # ran at 0.55 of float32's rate. The EPYCs measured have no avx512_fp16, and twice the rate.
    return not _BFLOAT16_FLAGS & flags or ("avx512_fp16" in flags and "amx_bf16" not in flags)


def faster(config: RunConfig, devices: Mapping[str, Any]) -> dict[str, Any]:
    """Settings that train faster on these devices than those of `config`."""
    return {"precision": "float32"} if "precision" in gainless(config, devices) else {}


def remarks(config: RunConfig, devices: dict[str, Any]) -> list[str]:
    """What a person should know before reading the results of `config` on this machine."""
    found = []
    without_gain = gainless(config, devices)
    if "replicas" in without_gain:
        here = config.replicas // config.hosts
        found.append(
            f"{here} replicas share one CPU ({len(devices['gpus'])} GPU(s) found). Losses match"
            f" {config.replicas} devices, but times do not."
        )
    if "precision" in without_gain:
        found.append(f"{_reason(devices)}. Training is slower than with precision=float32.")
    if "xla" in without_gain:
        found.append(
            "On a CPU, XLA fuses element-wise operations and leaves convolutions to oneDNN, which"
            " is faster. Expect a lower speed than without XLA (DCGAN at batch 32 and 64: 7 to 17 %"
            " lower) and a longer start-up."
        )
    elif config.replicas > 1 and config.xla:
        found.append(
            "XLA cannot synchronize replicas within its program. Batch norm uses per-replica"
            " statistics, so losses differ from those of one replica."
        )
    return found


def _reason(devices: Mapping[str, Any]) -> str:
    """Why bfloat16 is slow there."""
    if rates := devices.get("cpu_rates"):
        share = rates["mixed_bfloat16"] / rates["float32"]
        return (
            f"This processor multiplies bfloat16 at {share:.2f} times its float32 rate (measured)"
        )
    if _BFLOAT16_FLAGS & set(devices.get("cpu_flags", ())):
        return "This processor has AVX-512's bfloat16 instructions, but no AMX"
    return "This processor has no bfloat16 instructions"
