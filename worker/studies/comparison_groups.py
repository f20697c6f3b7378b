"""Runs of one machine that differ in one setting and the seed alone: what every comparison of a
study is made of."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from ganboard.db.models import Run
from ganboard.gan.config import diff
from ganboard.gan.devices.hardware import devices
from ganboard.gan.settings.metadata import affecting, defaults
from ganboard.worker.studies.shared_settings import flat


@dataclass(frozen=True)
class Family:
    """The runs of each value of the setting `name`, in ascending order of the values."""

    name: str
    cells: Mapping[Any, list[Run]]
    common: Mapping[str, Any]  # their configuration otherwise

    @property
    def what(self) -> str:
        return "Batch" if self.name == "batch_size" else self.name

    @property
    def groups(self) -> list[list[Run]]:
        """The runs of each value."""
        return list(self.cells.values())

    @property
    def first_seeds(self) -> list[Run]:
        """One run of each value: that with the lowest seed."""
        return [self.by_seed(value)[0] for value in self.cells]

    def by_seed(self, value: Any) -> list[Run]:
        """The runs of one value, the lowest seed first."""
        return sorted(self.cells[value], key=lambda run: int(run.config["seed"]))


def families(runs: Iterable[Run], name: str) -> list[Family]:
    """All families of at least two values of the setting, the largest first, then the most
    usual."""
    found = []
    for common, members in alike(runs, name):
        cells: dict[Any, list[Run]] = {}
        for run in members:
            cells.setdefault(run.config[name], []).append(run)
        if len(cells) > 1:
            found.append(
                Family(
                    name,
                    dict(sorted(cells.items(), key=lambda cell: (cell[0] is None, cell[0]))),
                    common,
                )
            )
    return sorted(found, key=lambda one: (-len(one.cells), _changed(one.common)))


def _changed(common: Mapping[str, Any]) -> int:
    """Settings that are not at their defaults."""
    usual = defaults(common)
    return len(diff(usual, {**usual, **common}))


def alike(runs: Iterable[Run], *names: str) -> list[tuple[dict[str, Any], list[Run]]]:
    """Runs of one machine with the same settings, those `names` and the seed left out: these
    settings, and the runs."""
    groups: dict[tuple[str, bytes], tuple[dict[str, Any], list[Run]]] = {}
    for run in runs:
        common = {key: value for key, value in run.config.items() if key not in (*names, "seed")}
        _, members = groups.setdefault(
            (machine(run), orjson.dumps(common, option=orjson.OPT_SORT_KEYS)), (common, [])
        )
        members.append(run)
    return list(groups.values())


def but_for_seed(configs: Iterable[Mapping[str, Any]]) -> list[bytes]:
    """A key for each configuration; equal keys differ in the seed, and in settings that change
    neither training nor its result. A digest: the text of each of ten thousand would be 100 MB."""
    ignored = {"seed", *affecting("records")}
    return [
        hashlib.sha256(
            orjson.dumps(
                {name: value for name, value in flat(config).items() if name not in ignored},
                option=orjson.OPT_SORT_KEYS,
            )
        ).digest()
        for config in configs
    ]


def machine(run: Run) -> str:
    """What times depend on: the accelerators, or else the processor. Empty while a run has not
    said."""
    return devices(run.hardware) if run.hardware else ""


def axis(definition: Mapping[str, Any]) -> str:
    """The setting that sets the curves of a study apart: the batch size, or what it varies
    first."""
    varied = [name for part in definition.get("parts", []) for name in part["vary"]]
    return "batch_size" if "batch_size" in varied or not varied else varied[0]
