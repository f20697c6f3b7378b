"""Where the time of an epoch went, and what else its steps reported: fills `gan.events.MEASURES`
and `SERIES`."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ganboard.gan.config import RunConfig
from ganboard.gan.costs import estimate
from ganboard.gan.devices.memory import peak_resident
from ganboard.gan.events import Losses
from ganboard.gan.training.runner import Report
from ganboard.gan.training.step import TIMES, Taken


class Measures:
    """Collects the reports of an epoch; after a resume only those of this attempt."""

    def __init__(self, config: RunConfig) -> None:
        self._config = config
        self._flop, self._bytes = estimate.step_flop(config), estimate.reduce_bytes(config)
        self.peak_gflops: float | None = None  # of this machine in this precision, once measured
        self._reports: list[Report] = []
        self.begin()

    def begin(self) -> None:
        """An epoch, or the rest of one, begins now."""
        self._reports = []
        self._began = time.monotonic()

    def add(self, report: Report) -> None:
        self._reports.append(report)

    def series(self, taken: Taken, rates: Losses) -> dict[str, Losses]:
        """SERIES of these steps, given their learning rates [n, 2]."""
        # a gradient of zero has no rate, and one that is not finite shows as such
        with np.errstate(all="ignore"):
            effective = {
                f"{net}_effective": np.sqrt(taken[f"{net}_update"] / taken[f"{net}_gradient"])
                for net in "gd"
            }
        return {"g_rate": rates[:, 0], "d_rate": rates[:, 1], **effective}

    def replica_seconds(self) -> Losses:
        """Seconds that each replica computed in the steps of this epoch, [n, replicas]: without
        waiting for images or for the others."""
        rows = [report.taken.seconds[..., TIMES.index("compute")] for report in self._reports]
        return np.concatenate(rows) if rows else np.empty([0, self._config.replicas], np.float32)

    def epoch(self) -> dict[str, float]:
        """MEASURES of the epoch that has just ended."""
        reports = self._reports
        if not reports:
            return {}
        # [n, replicas, TIMES]
        times = np.concatenate([report.taken.seconds for report in reports]).astype(np.float64)
        parts = {name: times[..., i] for i, name in enumerate(TIMES)}
        steps = parts["step"].max(1)
        if not steps.any():  # an accelerator's steps are timed from outside, call by call
            steps = np.concatenate(
                [
                    np.full(len(report.taken), report.seconds / len(report.taken))
                    for report in reports
                ]
            )
        training = float(sum(report.seconds for report in reports))
        found = {
            "step_p50": np.quantile(steps, 0.5),
            "step_p95": np.quantile(steps, 0.95),
            "step_max": steps.max(),
            "host_seconds": time.monotonic() - self._began - training,
            "gflops": self._flop * len(steps) / training / 1e9,
            "reduce_bytes": self._bytes,
            "peak_memory_bytes": peak_memory(),
            **self._figures(reports),
        }
        if parts["step"].any():
            inputs, reduce = parts["input"].mean(1).sum(), parts["reduce"].mean(1).sum()
            found |= {
                "input_seconds": inputs,
                "reduce_seconds": reduce,
                "compute_seconds": training - inputs - reduce,
            }
        if self.peak_gflops:
            found["peak_share"] = found["gflops"] / self.peak_gflops
        return {name: float(value) for name, value in found.items()}

    def _figures(self, reports: list[Report]) -> dict[str, Any]:
        def every(name: str) -> npt.NDArray[Any]:
            return np.concatenate([report.taken[name] for report in reports]).astype(np.float64)

        found: dict[str, Any] = {}
        # other losses' logits are no opinions
        if self._config.loss in ("non_saturating", "saturating"):
            found |= {name: every(name).mean() for name in ("d_real", "d_fake")}
        if self._config.precision != "float32":
            found |= {name: every(name).sum() for name in ("overflows", "underflows")}
        if self._config.precision == "mixed_float16":
            found |= {
                "skipped_steps": every("skipped").sum(),
                "loss_scale": every("loss_scale")[-1],
            }
        return found


def facts(config: RunConfig, machine: Mapping[str, Any], examples: int) -> dict[str, Any]:
    """FACTS that follow from the configuration and the machine."""
    gpu, memory = estimate.on_gpu(config, machine), estimate.available(config, machine)
    return {
        "step_gflop": estimate.step_flop(config) / 1e9,
        "reduce_bytes": estimate.reduce_bytes(config),
        "estimated_memory_bytes": estimate.estimate(config, examples, on_gpu=gpu),
        "largest_batch": estimate.largest_batch(config, memory, examples, on_gpu=gpu),
    }


def peak_memory() -> int:
    """Highest memory of this process so far in bytes: of its GPU where there is one, else resident."""
    import tensorflow as tf

    gpus = tf.config.list_logical_devices("GPU")
    if gpus:
        return max(int(tf.config.experimental.get_memory_info(gpu.name)["peak"]) for gpu in gpus)
    return peak_resident()
