"""Data of the runs of a study: gathered once, used by every result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from sqlalchemy import Engine

from ganboard.db.curves import series
from ganboard.db.models import Run
from ganboard.db.runs import past_runs
from ganboard.db.runs.runtime_estimation import placed
from ganboard.gan.config import model_of
from ganboard.gan.data import revision
from ganboard.gan.settings import registry
from ganboard.gan.studies.predictions import Prediction
from ganboard.worker import formatting
from ganboard.worker.studies.comparison_groups import Family, axis, families, machine
from ganboard.worker.submission.naming import word
from ganboard.worker.submission.sweep import digest

Verdict = Literal["reproduced", "not reproduced here", "cannot be tested here", "too little data"]
REPRODUCED: Verdict = "reproduced"
NOT_HERE: Verdict = "not reproduced here"
UNTESTED: Verdict = "cannot be tested here"
TOO_LITTLE: Verdict = "too little data"


@dataclass(frozen=True)
class StudyResult:
    """One figure or table. Words are plain text; `figure` is None while runs are lacking, and
    `finding` then says which."""

    key: str
    title: str
    claim: str  # the paper's
    verdict: Verdict
    finding: str
    how: str  # the values were obtained
    figure: go.Figure | None = None
    table: pd.DataFrame = field(default_factory=pd.DataFrame)
    # groups the verdict compares, each of equal settings but for the seed
    rests_on: Sequence[Sequence[Run]] = ()
    missing: str = ""  # with the verdict "too little data": what a verdict needs and what there is
    predicted: Prediction | None = None  # of the published machine; no measurement, of no run


@dataclass(frozen=True)
class StudyData:
    """The finished runs of a study, each once, the oldest first; how many others there are, by
    their state; what sets its curves apart."""

    engine: Engine
    runs: list[Run]
    others: Mapping[str, int]
    axis: str = "batch_size"
    # of all its runs, finished or not; all there are while it has none
    models: frozenset[str] = frozenset(registry.models())

    @classmethod
    def of(
        cls, engine: Engine, runs: Iterable[Run], definition: Mapping[str, Any] | None = None
    ) -> StudyData:
        """`runs` as `db.studies.runs` gives them, part by part; a study that varies no batch size
        is laid out by what it varies first.

        Imported runs with the same settings join them: families keep machines apart. Of runs on
        sampled data only those on the newest revision count.
        """
        known = list({run.id: run for run in runs}.values())
        others: dict[str, int] = {}
        for run in known:
            if run.status != "finished":
                others[run.status] = others.get(run.status, 0) + 1
        models = frozenset(model_of(run.config) for run in known) or frozenset(registry.models())
        asked = {digest(run.config) for run in known}
        known = [
            *known,
            *(
                run
                for run in past_runs.imported_runs(engine)
                if digest(run.config) in asked and run not in known
            ),
        ]
        timed = [
            run
            for run in known
            if run.status == "finished" and run.epoch and run.steps_per_epoch and run.seconds > 0
        ]
        newest: dict[str, int] = {}
        for run in timed:
            dataset = run.config["dataset"]
            newest[dataset] = max(newest.get(dataset, 1), revision.recorded(run.facts))
        timed = [
            run
            for run in timed
            # the others' data differ
            if revision.recorded(run.facts) == newest[run.config["dataset"]]
        ]
        return cls(
            engine,
            sorted(timed, key=lambda run: run.number),
            others,
            axis(definition or {}),
            models,
        )

    @cached_property
    def machines(self) -> set[str]:
        """On which the runs trained."""
        return {machine(run) for run in self.runs}

    def where(self, run: Run) -> str:
        """The machine of a run in brackets, where there are several."""
        return f" ({machine(run)})" if len(self.machines) > 1 else ""

    @cached_property
    def epochs(self) -> dict[str, pd.DataFrame]:
        """`db.curves.series.epochs_frame` of each run."""
        frame = series.epochs_frame(self.engine, [run.id for run in self.runs])
        return {str(run_id): rows for run_id, rows in frame.groupby("run_id")}

    def families(self, name: str) -> list[Family]:
        """`worker.studies.comparison_groups.families` of the finished runs."""
        return families(self.runs, name)

    def family(self, name: str) -> Family | None:
        """The first of `families`."""
        return next(iter(self.families(name)), None)

    def curves(self) -> Family | None:
        """The family that curves are drawn of."""
        return self.family(self.axis)

    def lacking(self, what: str) -> str:
        """What must be there before a figure can be drawn, and what there is."""
        states = ", ".join(f"{count} {status}" for status, count in self.others.items())
        return f"{what} Finished so far: {len(self.runs)}{f' ({states})' if states else ''}."


def apart(configs: Sequence[Mapping[str, Any]]) -> list[str]:
    """In words, what sets each stored configuration apart from the others, the seed left out;
    replicas with how they are spread."""
    where = [placed(config) for config in configs]
    names = [
        name
        for name in dict.fromkeys(name for config in configs for name in config)
        if name not in ("seed", "strategy", "replicas")
        and len({str(config.get(name)) for config in configs}) > 1
    ]
    found = []
    for config, (strategy, replicas) in zip(configs, where, strict=True):
        text = [word(name, config.get(name)) for name in names]
        if len(set(where)) > 1:
            text.append(
                formatting.plural(replicas, "replica") + (f" ({strategy})" if replicas > 1 else "")
            )
        found.append(", ".join(text) or "all runs")
    return found


def shared(runs: Iterable[Run]) -> str:
    """A sentence where some of the runs had fewer accelerators than replicas, else nothing."""
    for run in runs:
        hardware = run.hardware or {}
        if int(run.config["replicas"]) > max(
            1, len(hardware.get("gpus") or []) + len(hardware.get("tpus") or [])
        ):
            return (
                " The replicas shared the processors of one machine as logical devices or"
                " processes: this measures the overhead of distribution, not the gain of more"
                " devices."
            )
    return ""


def per_seed(runs: list[Run], value: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """`value(run)` of each run, those that are not finite left out."""
    found = np.array([value(run) for run in runs], dtype=np.float64)
    return found[np.isfinite(found)]


def spread(values: np.ndarray[Any, np.dtype[np.float64]]) -> str:
    """A mean with the range over seeds, in words."""
    if not len(values):
        return "–"
    return (
        f"{values.mean():.4g}"
        if len(values) == 1
        else f"{values.mean():.4g} ({values.min():.4g} to {values.max():.4g})"
    )
