"""Some training steps in a process of their own, with what they say of the device: `python -m
ganboard.gan.verification.steps JOB_JSON` prints one JSON line. For `ganboard firstday` and
`ganboard doctor --accelerator`.

A job has the settings (`config`), the folder of data (`data_dir`), the number of steps whose losses
are reported (`steps`), the seconds to measure the time of further steps for (`seconds`, 0: none),
and files that get the networks before the first and after `steps` steps (`start` and `arrays`, none
by default).
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from ganboard.gan import data
from ganboard.gan.config import ConfigError, parse, plan
from ganboard.gan.devices import runtime
from ganboard.gan.devices.memory import peak_resident
from ganboard.gan.rng import philox
from ganboard.gan.training import lr_schedules

_CALL_SECONDS = 0.5  # of the calls whose steps are measured
_LEAST_CALLS = 3
_MOST_STEPS = 4096  # of one call
_PROBLEM = 300  # characters of a reason


def main(job_json: str) -> None:
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print must not mix with the answer
    try:
        found = measure(json.loads(job_json))
    except (ConfigError, data.DatasetError) as error:
        found = {"problem": str(error)}
    # a device that is new here may refuse in any way, and the reason is the finding
    except Exception as error:
        text = " ".join(str(error).split()) or "no reason given"
        found = {"problem": f"{type(error).__name__}: {text[:_PROBLEM]}"}
    replies.write(json.dumps(found) + "\n")
    replies.flush()


def measure(job: Mapping[str, Any]) -> dict[str, Any]:
    """What a job finds: `losses` [steps] pairs of G and D, `compile_seconds`, `memory_bytes`, FACTS
    of the graph, and with `seconds` the median `step_seconds` of `timed_steps`."""
    config = parse(job["config"])
    runtime.prepare(config)
    from ganboard.gan.distributed import strategy as distribution
    from ganboard.gan.training import step

    strategy = distribution.strategy(config)  # connects to a TPU
    examples = data.load(config, Path(job["data_dir"])).first(config.limit)
    amounts = plan(config, len(examples))
    with strategy.scope():
        nets = step.networks(config)
    stepper = step.Stepper(config, strategy, nets, examples)
    if job.get("start"):
        _save(nets, job["start"])
    done = 0

    def take(count: int) -> list[list[float]]:
        nonlocal done
        losses: list[list[float]] = []
        while count:
            epoch, first = divmod(done, amounts.steps_per_epoch)
            portion = min(count, amounts.steps_per_epoch - first)
            order = philox.order(config.seed, epoch + 1, amounts.examples)
            numbers = done + np.arange(portion)
            rates = np.stack(lr_schedules.rates(config, amounts.steps_per_epoch, numbers), 1)
            metrics = stepper.run(order, first, done, portion, rates)
            losses += np.stack([metrics.g_loss, metrics.d_loss], 1).astype(float).tolist()
            done, count = done + portion, count - portion
        return losses

    began = time.monotonic()
    losses = take(1)
    compile_seconds = time.monotonic() - began
    losses += take(job["steps"] - 1)
    if job.get("arrays"):
        _save(nets, job["arrays"])
    found = {"losses": losses, "compile_seconds": compile_seconds}
    if job.get("seconds"):
        found |= _timed(take, job["seconds"])
    order = philox.order(config.seed, 1, amounts.examples)
    return {**found, **_memory(), **_facts(stepper, order), "parameters": _parameters(nets)}


def _save(nets: Any, path: str) -> None:
    arrays: dict[str, Any] = nets.arrays()
    np.savez(path, **arrays)


def _timed(take: Any, seconds: float) -> dict[str, Any]:
    """Median seconds of a step over calls of several steps each, as training makes them."""
    began = time.monotonic()
    take(1)
    count = max(1, min(_MOST_STEPS, round(_CALL_SECONDS / (time.monotonic() - began))))
    found: list[float] = []
    began = time.monotonic()
    while len(found) < _LEAST_CALLS or time.monotonic() - began < seconds:
        start = time.monotonic()
        take(count)
        found.append((time.monotonic() - start) / count)
    return {"step_seconds": median(found), "timed_steps": count * len(found)}


def _memory() -> dict[str, Any]:
    """Highest memory so far: the largest of the accelerators, else of the process."""
    import tensorflow as tf

    devices = [*tf.config.list_logical_devices("GPU"), *tf.config.list_logical_devices("TPU")]
    peaks = []
    for device in devices:
        # a runtime without this statistic raises kinds of its own
        with suppress(Exception):
            peaks.append(int(tf.config.experimental.get_memory_info(device.name)["peak"]))
    if devices:
        return {"memory_bytes": max(peaks, default=None), "memory_of": "device"}
    return {"memory_bytes": peak_resident(), "memory_of": "process"}


def _facts(stepper: Any, order: np.ndarray[Any, Any]) -> dict[str, Any]:
    """FACTS about the traced step; `off_accelerator` is None where it cannot be said."""
    import tensorflow as tf

    from ganboard.gan.devices import graph

    found: dict[str, Any] = {"off_accelerator": None, **stepper.graph_facts(order)}
    if isinstance(stepper.strategy, tf.distribute.TPUStrategy):
        arguments = stepper._arguments(order, 0, 0, 0, np.zeros([0, 2], np.float32))
        concrete = stepper._run.get_concrete_function(*arguments)
        try:
            found["off_accelerator"] = graph.off_accelerator(concrete, arguments)
        # never run on a TPU so far: what it lacks there is said instead of the answer
        except Exception as error:
            found["placement_problem"] = f"{type(error).__name__}: {str(error)[:_PROBLEM]}"
    return found


def _parameters(nets: Any) -> list[int]:
    return [int(net.count_params()) for net in (nets.generator, nets.discriminator)]


if __name__ == "__main__":
    main(*sys.argv[1:])
