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
from ganboard.gan.training.step_metrics import Seconds, StepMetrics


class EpochMetrics:
    """Collects the reports of an epoch; after a resume only those of this attempt."""

    def __init__(self, config: RunConfig) -> None:
        self._config = config
        self._flop = estimate.step_flop(config)
        self._bytes = estimate.reduce_bytes(config)
        self.peak_gflops: float | None = None  # of this machine in this precision, once measured
        self.begin()

    def begin(self) -> None:
        """An epoch, or the rest of one, begins now."""
        self._reports: list[Report] = []
        self._began = time.monotonic()

    def add(self, report: Report) -> None:
        self._reports.append(report)

    def series(self, metrics: StepMetrics, rates: Losses) -> dict[str, Losses]:
        """SERIES of these steps, given their learning rates [n, 2]."""
        # a gradient of zero has no rate, and one that is not finite shows as such
        with np.errstate(all="ignore"):
            g_effective = np.sqrt(metrics.g_update / metrics.g_gradient)
            d_effective = np.sqrt(metrics.d_update / metrics.d_gradient)
        return {
            "g_rate": rates[:, 0],
            "d_rate": rates[:, 1],
            "g_effective": g_effective,
            "d_effective": d_effective,
        }

    def replica_seconds(self) -> Losses:
        """Seconds that each replica computed in the steps of this epoch, [n, replicas]: without
        waiting for images or for the others."""
        if not self._reports:
            return np.empty([0, self._config.replicas], np.float32)
        return np.concatenate([report.metrics.seconds.compute for report in self._reports])

    def measures(self) -> dict[str, float]:
        """MEASURES of the epoch that has just ended."""
        if not self._reports:
            return {}
        metrics = StepMetrics.joined([report.metrics for report in self._reports])
        times = Seconds(*(part.astype(np.float64) for part in metrics.seconds))  # [n, replicas]
        timed = times.step.any()
        # an accelerator's steps are timed from outside, call by call
        steps = times.step.max(1) if timed else self._mean_seconds()
        training = float(sum(report.seconds for report in self._reports))
        found = {
            "step_p50": np.quantile(steps, 0.5),
            "step_p95": np.quantile(steps, 0.95),
            "step_max": steps.max(),
            "host_seconds": time.monotonic() - self._began - training,
            "gflops": self._flop * len(steps) / training / 1e9,
            "reduce_bytes": self._bytes,
            "peak_memory_bytes": peak_memory(),
            **self._of_loss_and_precision(metrics),
        }
        if timed:
            inputs = times.input.mean(1).sum()
            reduce = times.reduce.mean(1).sum()
            found |= {
                "input_seconds": inputs,
                "reduce_seconds": reduce,
                "compute_seconds": training - inputs - reduce,
            }
        if self.peak_gflops:
            found["peak_share"] = found["gflops"] / self.peak_gflops
        return {name: float(value) for name, value in found.items()}

    def _mean_seconds(self) -> npt.NDArray[np.float64]:
        """Seconds per step, [n]: of each the mean of its call."""
        counts = [len(report.metrics) for report in self._reports]
        seconds = [report.seconds for report in self._reports]
        return np.repeat(np.divide(seconds, counts), counts)

    def _of_loss_and_precision(self, metrics: StepMetrics) -> dict[str, Any]:
        found: dict[str, Any] = {}
        # other losses' logits are no opinions
        if self._config.logits_are_probabilities:
            found["d_real"] = metrics.d_real.astype(np.float64).mean()
            found["d_fake"] = metrics.d_fake.astype(np.float64).mean()
        if self._config.precision != "float32":
            found["overflows"] = metrics.overflows.astype(np.float64).sum()
            found["underflows"] = metrics.underflows.astype(np.float64).sum()
        if self._config.precision == "mixed_float16":
            found["skipped_steps"] = metrics.skipped.astype(np.float64).sum()
            found["loss_scale"] = metrics.loss_scale[-1]
        return found


def facts(config: RunConfig, machine: Mapping[str, Any], examples: int) -> dict[str, Any]:
    """FACTS that follow from the configuration and the machine."""
    gpu = estimate.on_gpu(config, machine)
    memory = estimate.available(config, machine)
    return {
        "step_gflop": estimate.step_flop(config) / 1e9,
        "reduce_bytes": estimate.reduce_bytes(config),
        "estimated_memory_bytes": estimate.estimate(config, examples, on_gpu=gpu),
        "largest_batch": estimate.largest_batch(config, memory, examples, on_gpu=gpu),
    }


def peak_memory() -> int:
    """Highest memory of this process so far in bytes: of its GPU if it has one, else resident."""
    import tensorflow as tf

    gpus = tf.config.list_logical_devices("GPU")
    if gpus:
        return max(int(tf.config.experimental.get_memory_info(gpu.name)["peak"]) for gpu in gpus)
    return peak_resident()
