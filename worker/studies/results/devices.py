"""Fig. 13: devices at one batch size."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ganboard.db.models import Run
from ganboard.db.runs.runtime_estimation import placed
from ganboard.worker import formatting
from ganboard.worker.figures import study
from ganboard.worker.studies.comparison_groups import alike
from ganboard.worker.studies.results.study_data import (
    NOT_HERE,
    REPRODUCED,
    UNTESTED,
    StudyData,
    StudyResult,
    per_seed,
    shared,
    spread,
)
from ganboard.worker.studies.results.timing import per_image, trained_images


def fig13(data: StudyData) -> StudyResult:
    claim = (
        "At batch 32 the multi-core TPU is 56.20 % faster than a CPU, 19.7 % than a GPU and 24.6 %"
        " than a TPU without distribution. “Faster” may mean less time or a higher rate: both are"
        " printed."
    )
    how = (
        "Training seconds per image for each device and number of replicas, at the smallest batch"
        " size that was run, over all seeds. All other settings are equal; of several such sets of"
        " runs the largest is shown."
    )
    result = partial(StudyResult, "fig13", "Fig. 13: devices at one batch size", claim, how=how)
    plain = [
        run
        for run in data.runs
        if not run.config["xla"] and run.config["schedule"] == "constant" and trained_images(run)
    ]
    if not plain:
        return result(UNTESTED, data.lacking("Needs a finished run without XLA and schedule."))
    least = min(int(run.config["batch_size"]) for run in plain)
    groups: dict[str, list[Run]] = {}
    for run in _equal_elsewhere([run for run in plain if run.config["batch_size"] == least]):
        groups.setdefault(device(run) + data.where(run), []).append(run)
    seconds_each = {name: per_seed(runs, per_image) for name, runs in groups.items()}
    longest = max(float(times.mean()) for times in seconds_each.values())
    table = pd.DataFrame(
        {
            "device": name,
            "milliseconds_per_image": 1000 * times.mean(),
            "images_per_second": 1 / times.mean(),
            "less_time": 1 - times.mean() / longest,
            "times_as_fast": longest / times.mean(),
        }
        for name, times in seconds_each.items()
    )
    finding = (
        f"Batch {least}: "
        + "; ".join(f"{name}: {spread(1 / times)} images/s" for name, times in seconds_each.items())
        + ". "
    )
    kinds = {name.partition(",")[0] for name in seconds_each}
    has = {kind for kind in ("CPU", "GPU", "TPU") if kind in kinds}
    finding += f"Only {' and '.join(sorted(has))} was available." if len(has) < 3 else ""
    finding += shared(run for runs in groups.values() for run in runs)
    verdict = UNTESTED if len(has) < 3 else _order(seconds_each)
    return result(
        verdict,
        finding,
        figure=study.devices(seconds_each),
        table=table,
        rests_on=list(groups.values()),
    )


def _equal_elsewhere(runs: list[Run]) -> list[Run]:
    """The largest set of runs, of all machines, that differ in device, replicas, precision and seed
    alone."""
    sets: list[tuple[Mapping[str, Any], list[Run]]] = []
    for common, members in alike(runs, "replicas", "strategy", "precision"):
        same = next((known for settings, known in sets if settings == common), None)
        if same is None:
            sets.append((common, list(members)))
        else:
            same += members
    return max((members for _, members in sets), key=len)


def device(run: Run) -> str:
    """The kind of device a run trained on, its precision and its replicas with how they are
    spread."""
    hardware = run.hardware or {}
    kind = "TPU" if hardware.get("tpus") else "GPU" if hardware.get("gpus") else "CPU"
    strategy, replicas = placed(run.config)
    spread_by = f" ({strategy})" if replicas > 1 else ""
    return f"{kind}, {run.config['precision']}, {formatting.plural(replicas, 'replica')}{spread_by}"


def _order(seconds_each: dict[str, Any]) -> Any:
    """Whether the order is the paper's: distributed TPU, GPU, TPU alone, CPU."""

    def best(kind: str, several: bool) -> float:
        found = [
            times.mean()
            for name, times in seconds_each.items()
            if name.startswith(kind) and (", 1 replica" not in name) is several
        ]
        return min(found, default=np.inf)

    order = [best("TPU", True), best("GPU", False), best("TPU", False), best("CPU", False)]
    return REPRODUCED if order == sorted(order) and np.isfinite(order).all() else NOT_HERE
