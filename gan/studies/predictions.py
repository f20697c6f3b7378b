"""What the published figures would be on their own machine, predicted from compiled steps: never
mixed with what was measured. Free of TensorFlow.

`predicted.json` has the estimates of `ganboard rehearse published`. A step takes the estimate of
its device and a host time that does not depend on the batch: the call that starts it, its input and
Python's part of the loop. The host is not known, so each claim is checked over HOST_SECONDS, and
the host time at which it would hold is stated.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from ganboard.gan.studies.published import BATCHES
from ganboard.gan.studies.reference_results import by_batch

Consistency = Literal["consistent", "not consistent", "no prediction"]
CONSISTENT: Consistency = "consistent"
INCONSISTENT: Consistency = "not consistent"
NOT_PREDICTED: Consistency = "no prediction"

# Assumed, per step: from a call of a compiled function on the same machine to one on a TPU host
# that is reached over a network, as Colab's was
HOST_SECONDS = (1e-4, 3e-2)
_HOSTS = (0.0, 1e-4, 1e-3, 3e-3, 1e-2, 3e-2)  # rows of tables
_CLOSE = 0.05  # a share or ratio that differs by no more is as claimed
MACHINE, OTHER = "v3-8", "v2-8"  # abstract and section 4 of the study name one each
_IMAGES = 60_000  # of MNIST's training set
_SHOWERS = 124_987  # of the 3DGAN's

Steps = Mapping[int, float]  # device seconds of a step by batch size


@dataclass(frozen=True)
class Prediction:
    """What was predicted for one published claim."""

    verdict: Consistency
    finding: str
    table: Sequence[Mapping[str, Any]] = field(default=())
    machine: str = "TPU v3-8"


@cache
def document() -> dict[str, Any]:
    """What `ganboard rehearse published` found."""
    found: dict[str, Any] = json.loads(Path(__file__).with_name("predicted.json").read_text())
    return found


def source() -> str:
    """Where predictions come from, in a sentence."""
    found = document()
    return (
        f"Predicted on {found['date']} from steps compiled for TPUs that were not there"
        f" ({', '.join(found['compiled_by'])}): the cycles that the compiler estimates, at the"
        " core's clock, exchanges at the bandwidth of its links, and an assumed host time per step"
        f" of {_ms(HOST_SECONDS[0])} to {_ms(HOST_SECONDS[1])}. An estimate that is wrong by some"
        " factor moves the host time that a claim needs by the same factor. Nothing was run on a"
        " TPU."
    )


def steps(model: str, target: str) -> Steps:
    """Device seconds of a step of `model` by batch size, on a target."""
    return {
        cell["batch"]: cell["computing_seconds"] + cell["exchange_seconds"]
        for cell in document()["cells"]
        if cell["compiles"] and (cell["model"], cell["target"]) == (model, target)
    }


def reduction(device: Steps, host: float, before: int, after: int) -> float:
    """Share by which the time of an epoch falls from one batch size to another."""
    return 1 - before * (host + device[after]) / (after * (host + device[before]))


def needed_host(device: Steps, share: float, before: int, after: int) -> float:
    """The host time at which `reduction` is `share`, in seconds; negative where none is."""
    ratio = (1 - share) * after / before  # (h + d_after) / (h + d_before)
    return (device[after] - ratio * device[before]) / (ratio - 1)


def fig5() -> Prediction:
    claimed = 0.79
    rows = [
        {
            "host_ms": round(1e3 * host, 3),
            **{
                target: _percent(reduction(steps("dcgan", target), host, 64, 512))
                for target in (MACHINE, OTHER)
            },
        }
        for host in _HOSTS
    ]
    device = steps("dcgan", MACHINE)
    return _holding(
        claimed,
        lambda host: reduction(device, host, 64, 512),
        needed_host(device, claimed, 64, 512),
        "From batch 64 to 512 the time falls",
        rows,
    )


def fig6() -> Prediction:
    rows = []
    falls = True
    for target in (MACHINE, OTHER):
        device = steps("dcgan", target)
        for host in HOST_SECONDS:
            times = {b: _IMAGES // b * (host + device[b]) for b in BATCHES}
            falls &= all(later < before for before, later in pairwise(times.values()))
            rows.append(
                {"target": target, "host_ms": round(1e3 * host, 3)}
                | {f"epoch_s_{batch}": round(seconds, 2) for batch, seconds in times.items()}
            )
    return Prediction(
        CONSISTENT if falls else INCONSISTENT,
        (
            "Every larger batch takes less time"
            if falls
            else "Not every larger batch takes less time"
        )
        + " over the whole range of host times.",
        rows,
    )


def fig12() -> Prediction:
    return Prediction(
        NOT_PREDICTED,
        "A TPU runs only what XLA compiled, so there is no step without XLA to compare with.",
    )


def fig13() -> Prediction:
    claimed = 0.246
    alone, eight = steps("dcgan", "v3-1"), steps("dcgan", MACHINE)
    batch = 32
    rows = [
        {
            "host_ms": round(1e3 * host, 3),
            "v3-8, ms": round(1e3 * (host + eight[batch]), 3),
            "v3-1, ms": round(1e3 * (host + alone[batch]), 3),
            "less time": _percent(1 - (host + eight[batch]) / (host + alone[batch])),
        }
        for host in _HOSTS
    ]
    ratio = 1 - claimed
    needed = (eight[batch] - ratio * alone[batch]) / (ratio - 1)
    made = _holding(
        claimed,
        lambda host: 1 - (host + eight[batch]) / (host + alone[batch]),
        needed,
        f"At batch {batch}, 8 cores take less time than one",
        rows,
    )
    return Prediction(
        made.verdict,
        f"{made.finding} CPU and GPU are not predicted: the study names neither.",
        made.table,
    )


def showers() -> Prediction:
    """Seconds per epoch of the 3DGAN on 8 cores of TPU v2 and v3."""
    published = {"v2-8": 1058.88, "v3-8": 416.29}
    batch = 1024
    epochs = {
        target: _SHOWERS // batch * steps("gan3d", target)[batch]
        for target in published
        if batch in steps("gan3d", target)
    }
    if len(epochs) < 2:
        return Prediction(NOT_PREDICTED, "The step of these networks was not compiled for both.")
    ratio, claimed = epochs["v2-8"] / epochs["v3-8"], published["v2-8"] / published["v3-8"]
    rows = [
        {"target": target, "predicted_s": round(seconds, 1), "published_s": published[target]}
        for target, seconds in epochs.items()
    ]
    close = abs(ratio / claimed - 1) <= 2 * _CLOSE
    return Prediction(
        CONSISTENT if close else INCONSISTENT,
        f"Without any host time, v3 is {ratio:.2f} times as fast as v2; published: {claimed:.2f}."
        f" Published epochs take {published['v3-8'] / epochs['v3-8']:.1f} times the device's"
        " estimate on v3: what their loop did beside it decides.",
        rows,
        "TPU v2-8 and v3-8",
    )


def flows() -> Prediction:
    """What a batch of 16 saves over one of 8 in pix2pix, on 8 cores of TPU v2, v3 and v4."""
    rows = []
    verdicts = []
    for name, target in (("TPU v2", "v2-8"), ("TPU v3", "v3-8"), ("TPU v4", "v4-8")):
        device, published = steps("pix2pix", target), by_batch("pix2pix", name)
        for before, after in pairwise(sorted(set(device) & set(published))):
            claimed = 1 - published[after] / published[before]
            range_ = [reduction(device, host, before, after) for host in HOST_SECONDS]
            holds = min(range_) - _CLOSE <= claimed <= max(range_) + _CLOSE
            verdicts.append(holds)
            rows.append(
                {
                    "target": target,
                    "from": before,
                    "to": after,
                    "published": _percent(claimed),
                    "predicted": f"{_percent(min(range_))} to {_percent(max(range_))}",
                    "needed_host_ms": round(1e3 * needed_host(device, claimed, before, after), 2),
                }
            )
    if not rows:
        return Prediction(NOT_PREDICTED, "The step of these networks was not compiled.")
    return Prediction(
        CONSISTENT if all(verdicts) else INCONSISTENT,
        f"{sum(verdicts)} of {len(rows)} published savings by a larger batch lie within the range"
        " of host times; the host time per step decides. A needed host time below zero means that"
        " the published step grew faster with its batch than the device's, as with input that costs"
        " time for each image.",
        rows,
        "TPU v2-8, v3-8 and v4-8",
    )


BY_FIGURE: dict[str, Callable[[], Prediction]] = {
    "fig5": fig5,
    "fig6": fig6,
    "fig12": fig12,
    "fig13": fig13,
    "training-table": flows,
    "approaches": showers,
}


def of(figure: str) -> Prediction | None:
    """The prediction for a figure; None for one that claims nothing of a machine's speed."""
    if figure not in BY_FIGURE:
        return None
    try:
        return BY_FIGURE[figure]()
    except KeyError:  # a step that the compiler refused
        return Prediction(NOT_PREDICTED, "Not all of the steps that it rests on compile.")


def _holding(
    claimed: float,
    at: Callable[[float], float],
    needed: float,
    what: str,
    rows: Sequence[Mapping[str, Any]],
) -> Prediction:
    """The prediction of a share that depends on the host time."""
    low, high = sorted(at(host) for host in HOST_SECONDS)
    holds = low - _CLOSE <= claimed <= high + _CLOSE
    condition = (
        f"{_percent(claimed)} needs a host time of {_ms(needed)} per step"
        if needed > 0
        else f"no host time gives {_percent(claimed)}"
    )
    return Prediction(
        CONSISTENT if holds else INCONSISTENT,
        f"{what} by {_percent(low)} to {_percent(high)} over the range of host times; {condition}."
        " The host time per step decides.",
        rows,
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.3g} ms"
