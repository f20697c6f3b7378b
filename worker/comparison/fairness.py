"""Why a difference between two runs may not be due to their settings alone, in sentences of plain
text."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any

from ganboard.db.models import ENDED, Run
from ganboard.gan.config import diff
from ganboard.gan.data import revision
from ganboard.gan.devices.hardware import devices
from ganboard.gan.settings.features import recorded
from ganboard.worker import formatting

FEW = 3  # epochs: fewer make no speed
TOGETHER = 0.1  # share of the shorter training during which the other one ran beside it


def state(run: Run, measured: int, who: str) -> list[str]:
    """Limits of a run with this number of `measured` epochs; `who` is its name in the sentences."""
    planned = 0 if run.external else int(run.config.get("epochs", 0))
    done = f"{run.epoch} of {formatting.plural(planned, 'epoch')}"
    if run.external:
        done = formatting.plural(run.epoch, "epoch")
    found = []
    ended = {"failed": "failed", "stopped": "was stopped", "pruned": "was pruned by its search"}
    if word := ended.get(run.shown_status):
        found.append(f"{who} {word} after {done}.")
    if any(loss is not None and not math.isfinite(loss) for loss in (run.g_loss, run.d_loss)):
        found.append(f"{who} diverged: its losses are no longer finite.")
    if 0 < measured < FEW:
        found.append(
            f"{who} has only {formatting.plural(measured, 'measured epoch')}: its speed is a rough"
            " estimate."
        )
    return found


def remarks(first: Run, second: Run, now: datetime) -> list[str]:
    """What differs or coincides beside the settings that were compared; `now` is the end of what
    still trains."""
    one, two = first.config, second.config
    found = []
    if other_data(one, two):
        data = " and ".join(
            formatting.format_value(config.get("images_path") or config.get("dataset"))
            for config in (two, one)
        )
        found.append(
            f"The data sets differ ({data}): quality and losses cannot be compared, and speeds are"
            " per image."
        )
    elif len(made := {revision.recorded(run.facts) for run in (first, second)}) > 1:
        which = f"revisions {min(made)} and {max(made)}"
        found.append(f"The sampled data differ ({which}): quality and losses cannot be compared.")
    elif one.get("limit") != two.get("limit"):
        found.append(
            "The amounts of data differ: the same number of epochs is not the same amount of"
            " training."
        )
    if one.get("loss") != two.get("loss"):
        found.append("The loss functions differ: loss curves cannot be compared.")
    if one.get("model") != two.get("model"):
        found.append("The networks differ: the cost of a step is not the same.")
    for word, pair in (
        ("planned", (two.get("epochs"), one.get("epochs"))),
        ("finished", (second.epoch, first.epoch)),
    ):
        if pair[0] != pair[1] and (
            word == "planned" or {first.status, second.status} <= set(ENDED)
        ):
            found.append(
                f"The numbers of {word} epochs differ ({pair[0]} and {pair[1]}): final losses and"
                " total times cannot be compared."
            )
            break
    if first.hardware and second.hardware:
        found += _machines(first, second, now)
    sources = [recorded(run.facts) for run in (first, second)]
    accuracies = [run.facts.get("classifier_accuracy") for run in (first, second)]
    if (
        sources[0].comparable(sources[1])
        and None not in accuracies
        and accuracies[0] != accuracies[1]
        and not other_data(one, two)
    ):
        found.append(
            "The quality was measured with different classifiers: small differences in FID are not"
            " meaningful."
        )
    return found


def other_data(one: dict[str, Any], two: dict[str, Any]) -> bool:
    """Whether two configurations learn from different data sets."""
    return any(one.get(name) != two.get(name) for name in ("dataset", "images_path"))


def _machines(first: Run, second: Run, now: datetime) -> list[str]:
    found, (one, two) = [], (first.hardware or {}, second.hardware or {})
    if devices(one) != devices(two):
        found.append(
            f"The hardware differs ({devices(two)}; {devices(one)}): the speeds also reflect the"
            " machines."
        )
    versions = diff(one.get("versions") or {}, two.get("versions") or {})
    if versions:
        differing = [f"{name} {its} and {ours}" for name, (ours, its) in sorted(versions.items())]
        found.append(f"The versions differ ({', '.join(differing)}).")
    if one.get("host") == two.get("host") and first.started_at and second.started_at:
        ends = (first.ended_at or now, second.ended_at or now)
        shared = (min(ends) - max(first.started_at, second.started_at)).total_seconds()
        shorter = min(
            (ends[0] - first.started_at).total_seconds(),
            (ends[1] - second.started_at).total_seconds(),
        )
        if shared > TOGETHER * shorter > 0:
            found.append(
                "They trained at the same time on the same machine and may have slowed each other"
                " down."
            )
    return found
