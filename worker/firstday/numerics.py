"""The parts that ask whether this device computes a training right: placement, precisions, one
against n replicas, killed and resumed."""

from __future__ import annotations

import json
import math
import re
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ganboard.gan.config import parse
from ganboard.gan.verification import equivalence
from ganboard.worker.errors import ServiceFailed
from ganboard.worker.firstday.day import Day, Result, Status
from ganboard.worker.formatting import duration
from ganboard.worker.process.json_child import TimeLimit, run
from ganboard.worker.selftest.selftest import difference, share

# operations whose place decides the speed of a step
PRODUCTS = re.compile(r"Conv|MatMul|Einsum")
LARGE_DEVIATION = 0.2  # of a loss from float32's
# As those of `worker.selftest.claims`: absolute where products are exact to float32's rounding,
# else a share of the largest move of a weight, since accelerators round what they multiply
ROUNDING, SHARE = 2e-6, 0.05
ADAM_RATE, RESUME_STEPS, PER_EPOCH = 1e-4, 20, 5
_EQUIVALENCE = ("-m", "ganboard.gan.verification.equivalence")
# hides all accelerators from a process that compares on the CPU
_ON_CPU = {"CUDA_VISIBLE_DEVICES": "-1"}
# one chip of a TPU for one process (libtpu)
_ONE_CHIP = {
    "TPU_VISIBLE_CHIPS": "0",
    "TPU_CHIPS_PER_PROCESS_BOUNDS": "1,1,1",
    "TPU_PROCESS_BOUNDS": "1,1,1",
}


def placement(day: Day) -> Result:
    """Which operations of a step run off the accelerator."""
    step = day.steps("the first step in float32")
    how = "The partitioned graph of one training step, as TensorFlow runs it; constants and copies"
    how += " left out."
    begins = f"The first step took {duration(step['compile_seconds'])}, compilation included"
    off = step["off_accelerator"]
    if problem := step.get("placement_problem"):
        return Result("warn", f"{begins}; TensorFlow does not say where it runs: {problem}", how)
    if off is None:
        return Result("ok", f"{begins}; there is no accelerator to run off.", how)
    wrong = [one for one in off if PRODUCTS.search(one.split(" ")[0])]
    if wrong:
        text = f"{begins}; products run off the accelerator: {', '.join(wrong[:4])}."
    else:
        text = f"{begins}; {len(off)} kinds of operations run off the accelerator, no products."
    rows = [tuple(one.rsplit(" on ", 1)) for one in off]
    return Result("fail" if wrong else "ok", text, how, ("operation", "runs on"), rows)


def precision(day: Day) -> Result:
    """Finite losses in every precision, and how far they are from float32's."""
    names, rows, failed, missing = day.precisions(), [], [], []
    base: list[list[float]] = []
    deviations = []
    for name in names:
        try:
            found = day.steps(f"steps in {name}", name)["losses"]
        except TimeLimit:
            missing.append(name)
            continue
        except ServiceFailed as error:
            failed.append(f"{name}: {error}")
            rows.append((name, "failed", "-", "-"))
            continue
        base = base or found
        finite = all(math.isfinite(loss) for pair in found for loss in pair)
        if not finite:
            failed.append(f"{name}: a loss is not finite")
        off = deviation(base, found) if finite else math.inf
        deviations.append(off)
        last = ", ".join(f"{loss:.4f}" for loss in found[-1])
        rows.append(
            (name, "yes" if finite else "no", last, f"{off:.2g}" if name != names[0] else "-")
        )
    columns = ("precision", "losses finite", "last losses of G, D", "deviation from float32")
    how = "Largest difference of a loss from float32's at the same step, as a share of that loss;"
    how += f" {len(base)} steps of DCGAN with Adam, same seed."
    if failed:
        return Result("fail", "; ".join(failed) + ".", how, columns, rows, missing)
    if not rows:
        return Result("not done", "No precision was finished in time.", how, not_done=missing)
    largest = max(deviations)
    text = f"Losses are finite in {len(rows)} precisions; largest deviation {largest:.2g}."
    status: Status = "warn" if largest > LARGE_DEVIATION else "ok"
    return Result(status, text, how, columns, rows, missing)


def deviation(base: Sequence[Sequence[float]], other: Sequence[Sequence[float]]) -> float:
    """Largest difference of a loss, as a share of that of `base` (at least 0.01)."""
    one, two = np.array(base, np.float64), np.array(other, np.float64)
    return float((np.abs(one - two) / np.maximum(np.abs(one), 0.01)).max())


def replicas(day: Day) -> Result:
    """The same steps by one replica and by n: equal up to rounding."""
    n = max(day.cores, day.gpus)
    on_cpu = n < 2
    n = 2 if on_cpu else n
    common = {
        "dataset": "digits",
        "batch_size": 8 * n if day.options.quick else 32 * n,
        "optimizer": "sgd",
        "g_learning_rate": 0.01,
        "d_learning_rate": 0.01,
    }
    strategy = "tpu" if day.cores and not on_cpu else "mirrored"
    environment = _ON_CPU if on_cpu else {}
    alone = {**common, "strategy": "tpu" if strategy == "tpu" else "default"}
    states, losses = [], []
    for count, settings, variables in (
        (1, alone, _ONE_CHIP if strategy == "tpu" else environment),
        (n, {**common, "strategy": strategy, "replicas": n}, environment),
    ):
        files = {name: str(day.folder / f"{name}-{count}.npz") for name in ("start", "arrays")}
        found = day.take(
            f"{count} replica{'s'[: count > 1]}",
            parse(settings),
            {"steps": 3, **files},
            environment=variables,
        )
        states.append(files)
        losses.append(found["losses"])
    first, other = (_arrays(files["arrays"]) for files in states)
    apart, moved = difference(first, other), share(first, other, _arrays(states[0]["start"]))
    exact = on_cpu or not day.accelerated
    holds = apart <= ROUNDING if exact else moved <= SHARE
    bound = f"{ROUNDING:.0e}" if exact else f"{SHARE:.0%} of the largest move"
    where = (
        "on the CPU, as there are not two devices" if on_cpu else f"on {day.hardware['devices']}"
    )
    text = f"{n} replicas {'equal' if holds else 'differ from'} one up to rounding, {where}."
    rows = [
        ("largest difference of a weight", f"{apart:.1e}", f"{ROUNDING:.0e}" if exact else "-"),
        ("as a share of the largest move", f"{moved:.1e}", "-" if exact else bound),
        ("largest deviation of a loss", f"{deviation(*losses):.1e}", "-"),
    ]
    how = "Three steps of SGD on the same batches; a wrong factor on a gradient would be a share of"
    how += " 0.5 or more."
    return Result("ok" if holds else "fail", text, how, ("measure", "found", "bound"), rows)


def resume(day: Day) -> Result:
    """A training that is killed after a checkpoint and resumed, beside one that is not."""
    batch = (8 if day.options.quick else 32) * max(1, day.cores)
    settings = day.settings(
        batch_size=batch,
        limit=batch * PER_EPOCH,
        epochs=RESUME_STEPS // PER_EPOCH,
        epsilon=0.01,
        grid_size=1,
        g_learning_rate=ADAM_RATE,
        d_learning_rate=ADAM_RATE,
    )
    whole, broken = day.folder / "whole", day.folder / "killed"
    _train(day, "an uninterrupted training", settings, whole)
    _train(day, "a training to be killed", settings, broken, "killed")
    _train(day, "the same training, resumed", settings, broken, "", "2")
    apart = difference(equivalence.state(whole), equivalence.state(broken))
    bound = SHARE * RESUME_STEPS * ADAM_RATE
    promised = "to rounding" if day.accelerated else "to the bit"
    holds = apart <= bound if day.accelerated else apart == 0
    found = "Identical bits" if apart == 0 else f"Weights differ by at most {apart:.1e}"
    how = f"SIGKILL after the first checkpoint of {RESUME_STEPS} steps of Adam, then a new process."
    if day.accelerated:
        how += f" Bound {bound:.0e}: {SHARE:.0%} of how far Adam can move a weight meanwhile."
    else:
        how += " On a CPU identical bits are promised."
    text = f"{found}; on this device the result is promised {promised}."
    return Result("ok" if holds else "fail", text, how)


def _train(
    day: Day,
    what: str,
    settings: Mapping[str, Any],
    folder: Path,
    variant: str = "",
    attempt: str = "1",
) -> None:
    """One process of a training. Raises ServiceFailed, TimeLimit."""
    places = (str(folder), str(day.context.settings.data))
    ended = run(
        [*_EQUIVALENCE, json.dumps(settings), *places, variant, attempt],
        day.time_for(what),
        waiting=lambda: day.doing(what),
    )
    wanted = -signal.SIGKILL if variant == "killed" else 0
    if ended.code != wanted:
        reason = "it ended before it could be killed" if ended.code == 0 else ended.reason
        raise ServiceFailed(f"{what}: {reason}")


def _arrays(path: str) -> dict[str, Any]:
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}
