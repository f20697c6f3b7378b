"""What this machine and this version can run. Free of TensorFlow."""

from __future__ import annotations

from typing import Any

from gan.config import RunConfig

MAX_LOGICAL_REPLICAS = 64


def check(config: RunConfig, devices: dict[str, Any]) -> str | None:
    """One sentence when `config` cannot run here, else None; `devices` as of `gan.hardware.describe` (`gpus` and `tpus` are read)."""
    gpus, tpus = len(devices["gpus"]), len(devices["tpus"])
    strategy = config.effective_strategy
    if strategy == "tpu":
        found = f"{tpus} TPU(s) found" if tpus else "no TPU found"
        return f"strategy=tpu is not available in this version ({found}): use strategy=mirrored or auto."
    if strategy == "multi_worker":
        return "strategy=multi_worker is not available in this version: use strategy=mirrored, which spreads replicas over one machine."
    if config.precision == "mixed_float16" and not gpus:
        return "precision=mixed_float16 needs a GPU and none was found: use mixed_bfloat16, which runs everywhere, or float32."
    if config.replicas > max(gpus, MAX_LOGICAL_REPLICAS):
        return (
            f"replicas={config.replicas} is more than this machine can carry ({gpus} GPU(s) found, and at most {MAX_LOGICAL_REPLICAS} "
            f"replicas on logical CPU devices): lower replicas to {max(gpus, MAX_LOGICAL_REPLICAS)} or less."
        )
    return None


def remarks(config: RunConfig, devices: dict[str, Any]) -> list[str]:
    """What a person should know before reading the results of `config` on this machine."""
    found = []
    if config.replicas > 1 and len(devices["gpus"]) < config.replicas:
        found.append(
            f"{config.replicas} replicas share one CPU ({len(devices['gpus'])} GPU(s) found): "
            f"losses are those of {config.replicas} devices, times are not."
        )
    if config.replicas > 1 and config.xla:
        found.append(
            "XLA cannot wait for other replicas in the middle of its program: batch norm takes its statistics per replica, "
            "so losses differ from those of one replica."
        )
    return found
