"""Which evaluated runs have numbers that may be compared."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine

from ganboard.db.runs import past_runs
from ganboard.db.runs.forks import FORKED
from ganboard.db.runs.listing import Listed
from ganboard.gan.config import model_of
from ganboard.gan.data import revision
from ganboard.gan.devices.hardware import devices
from ganboard.gan.quality.declared import OF_MODEL
from ganboard.gan.settings.features import FACT as FEATURES
from ganboard.gan.settings.features import Source, recorded
from ganboard.gan.settings.metadata import all_defaults
from ganboard.gan.settings.metric import Metric
from ganboard.worker.studies.shared_settings import flat

FACTS = (FEATURES, revision.FACT)  # of a run that decide about it


@dataclass(frozen=True, slots=True)
class Entry:
    """An evaluated run."""

    run: Listed
    source: Source
    revision: int  # of its data
    machine: str

    @property
    def data(self) -> str:
        """The data set, which a number of quality means nothing without."""
        config = self.run.config
        name = str(config.get("images_path") or config["dataset"])
        made = self.revision != revision.current(config)
        return f"{name} (revision {self.revision})" if made else name


def entries(engine: Engine, runs: Iterable[Listed]) -> list[Entry]:
    """Those of the runs that were evaluated, are no fork, not archived, and whose settings can be
    read, in their order."""
    evaluated = {one.run_id: one for one in past_runs.evaluated_runs(engine, *FACTS, FORKED)}
    sources: dict[Source, Source] = {}  # of many runs few: equal ones are one object
    return [
        Entry(
            run,
            sources.setdefault(source := recorded(found.facts), source),
            revision.recorded(found.facts),
            sys.intern(devices(found.hardware)) if found.hardware else "",
        )
        for run in runs
        if (found := evaluated.get(run.id))
        # a fork's settings do not hold for all of its epochs
        and FORKED not in found.facts
        and run.archived_at is None
        and not run.external
        and "dataset" in run.config
    ]


def by_evaluation(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    """The runs on one data set whose numbers may be compared, by what they were evaluated with;
    the largest group first.

    A run that did not record which features of a kind it has is compared with all of that kind.
    """
    found: dict[str, list[Entry]] = {}
    kinds: dict[tuple[str, int, bool], list[Entry]] = {}
    for entry in entries:
        kinds.setdefault(_kind(entry), []).append(entry)
    for (_, images, by_features), own in kinds.items():
        known = list(dict.fromkeys(entry.source for entry in own if entry.source.digest))
        for source in known or [own[0].source]:
            features = f"{source.label} features" if by_features else "the model's own metrics"
            which = f" {source.digest[:8]}" if len(known) > 1 else ""
            label = f"{features}{which}, {images:,} samples"
            found[label] = [entry for entry in own if source.comparable(entry.source)]
    return dict(sorted(found.items(), key=lambda group: -len(group[1])))


def _kind(entry: Entry) -> tuple[str, int, bool]:
    """Distances depend on the features and on the number of images."""
    model = model_of(entry.run.config)
    by_features = any(metric.by_features for metric in OF_MODEL[model].values())
    images = entry.run.config.get("quality_images") or all_defaults()["quality_images"]
    return (entry.source.name if by_features else model), int(images), by_features


def metrics(entries: Sequence[Entry]) -> dict[str, Metric]:
    """The metrics of these runs that have a better end, the headline of the commonest model
    first."""
    models: Counter[str] = Counter()
    # looked up once each, not once for each of 10,000 runs
    for name, count in Counter(str(entry.run.config.get("model")) for entry in entries).items():
        models[model_of({"model": name})] += count
    found: dict[str, Metric] = {}
    for model, _ in models.most_common():
        found |= {name: metric for name, metric in OF_MODEL[model].items() if name not in found}
    return {name: metric for name, metric in found.items() if metric.better}


def configs(entries: Sequence[Entry]) -> dict[str, dict[str, Any]]:
    """Their settings but the seed, by run id; equal ones are one dictionary."""
    found: dict[str, dict[str, Any]] = {}
    shared: dict[str, dict[str, Any]] = {}
    for entry in entries:
        config = flat(entry.run.config)
        config.pop("seed", None)
        found[entry.run.id] = shared.setdefault(repr(config), config)
    return found
