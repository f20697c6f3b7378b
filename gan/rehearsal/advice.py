"""Which settings would help on a target, by what its compiled step says. Free of TensorFlow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ganboard.gan.config import RunConfig
from ganboard.gan.settings.recomputing import RecomputingConfig

_LARGE = 0.2  # share of a step that is worth a setting
_SHORT = 2e-3  # seconds of a step beside which a host's call of 0.1 ms or more counts
_FULL = 0.9  # share of a device's memory
_PADDED = 0.5  # share of the bytes that a TPU writes


def advice(report: Mapping[str, Any], config: RunConfig) -> Iterator[str]:
    """Sentences, each with the number that it follows from."""
    if config.precision == "mixed_float16" and config.strategy == "tpu":
        yield (
            "It compiles, but `ganboard train` refuses mixed_float16 on a TPU, whose own format is"
            " bfloat16: use mixed_bfloat16."
        )
    share = _share(report, "random numbers")
    if config.rng == "philox" and share > _LARGE:
        yield (
            f"Random numbers take {100 * share:.0f} % of the estimated step: rng=hash draws them"
            " by an element-wise hash."
        )
    own = round(
        sum(calls * one["count"] for calls, one in _exchanges(report) if "norm" in one["part"])
    )
    if config.sync_batch_norm and own:
        yield (
            f"{own} of {report['collectives']} exchanges are batch norm's: sync_batch_norm=false"
            " leaves each replica its own statistics."
        )
    seconds = report["step_seconds"]
    if config.strategy == "tpu" and config.steps_per_execution == 1 and seconds < _SHORT:
        yield (
            f"A step takes about {1e3 * seconds:.2g} ms, and the host starts each:"
            " steps_per_execution=16 starts 16 at a time."
        )
    padding = max(program.get("padding", 0.0) for program in report["programs"])
    if config.strategy == "tpu" and padding > _PADDED:
        yield (
            f"{100 * padding:.0f} % of the bytes that it writes pad tiles of 8 x 128: a larger"
            " batch fills them."
        )
    full = report["memory"]["total"] / report["device_memory"]
    if full > _FULL:
        # on a TPU it was compiled to more memory, not less: docs/accelerators.md
        recomputes = (
            isinstance(config, RecomputingConfig)
            and not config.recompute
            and config.strategy != "tpu"
        )
        remedy = "recompute=true, " if recomputes else ""
        yield (
            f"The step takes {100 * full:.0f} % of the memory: {remedy}accumulate=2 or a smaller"
            " batch takes less."
        )


def _share(report: Mapping[str, Any], name: str) -> float:
    """Share of a part in the time of all programs."""
    own = whole = 0.0
    for program in report["programs"]:
        seconds = program["calls"] * program["seconds"]
        whole += seconds
        own += seconds * sum(part["share"] for part in program["parts"] if part["part"] == name)
    return own / whole if whole else 0.0


def _exchanges(report: Mapping[str, Any]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for program in report["programs"]:
        for one in program["collectives"]:
            yield program["calls"], one
