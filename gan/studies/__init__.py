"""Studies: grids of runs that answer a question together. Each is a small file that says what it
asks and which runs it needs.

A study of one's own is such a file too: it sets `STUDY = Study(...)`, with `Study`, `Part` and
`BUDGETS` imported from here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from importlib import import_module
from types import MappingProxyType, ModuleType
from typing import Any

# so that a file that sets something else is refused where it does
from pydantic.dataclasses import dataclass

from ganboard.gan.config import ConfigError

NAMES = ("paper", "batch-size", "precision-xla", "scaling", "schedules", "showers", "vortex_street")
FORMER = {"street": "vortex_street"}
FIGURES = (
    "table1", "fig5", "fig6", "fig7", "fig8", "fig9", "fig10", "fig11", "fig12", "fig13",
    "training-table", "quality", "overfitting", "physics", "scaling", "approaches", "forecast",
    "bottleneck",
)  # fmt: skip


@dataclass(frozen=True)
class Part:
    """One grid of a study: every combination of the values in `vary` on top of `settings`."""

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    vary: Mapping[str, Sequence[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Study:
    """What all runs share, how often each is repeated with another seed, the grids, and the figures
    that come of them."""

    name: str
    title: str
    purpose: str
    settings: Mapping[str, Any]
    parts: tuple[Part, ...]
    seeds: int = 1
    figures: tuple[str, ...] = FIGURES


@dataclass(frozen=True)
class Budget:
    """How much a study may cost: settings of all runs, the batch sizes, seeds per run, and whether
    grids are crossed in full."""

    about: str
    settings: Mapping[str, Any]
    batches: tuple[int, ...]
    seeds: int
    crossed: bool = False

    @property
    def usual(self) -> int:
        """The batch at which everything but the batch is varied: the study's own 64, or the
        smallest."""
        return 64 if 64 in self.batches else self.batches[0]


BUDGETS = {  # DCGAN's; studies of other models have their own BUDGETS with the same names
    "paper": Budget(
        "all combinations as published: days on a CPU, hours on a GPU",
        {"dataset": "mnist", "epochs": 30, "quality_every": 5, "quality_images": 5000},
        batches=(32, 64, 128, 256, 512),
        seeds=3,
        crossed=True,
    ),
    "paper-small": Budget(
        "the same questions on a tenth of the images and fewer epochs: an evening on a laptop",
        {
            "dataset": "mnist",
            "limit": 6144,
            "epochs": 6,
            "quality_every": 2,
            "quality_images": 1000,
        },
        batches=(32, 64, 128, 256, 512),
        seeds=3,
    ),
    "tiny": Budget(
        "for tests: minutes; results are not meaningful",
        {"dataset": "digits", "limit": 128, "epochs": 2, "grid_size": 4},
        batches=(16, 32),
        seeds=1,
    ),
}


def budgets(name: str) -> Mapping[str, Budget]:
    """The budgets of a built-in study. Raises ConfigError for an unknown name."""
    found: Mapping[str, Budget] = getattr(_module(name), "BUDGETS", BUDGETS)
    return found


def built_in(name: str, budget: str, changes: Mapping[str, Any] = MappingProxyType({})) -> Study:
    """The study of that name within a budget, some of whose settings are changed. Raises
    ConfigError for unknown names."""
    known = budgets(name)
    if budget not in known:
        raise ConfigError(
            f"budget {budget[:80]!r} does not exist: choose one of {', '.join(known)}."
        )
    make: Callable[[Budget], Study] = _module(name).study
    return make(replace(known[budget], settings={**known[budget].settings, **changes}))


def _module(name: str) -> ModuleType:
    name = FORMER.get(name, name)
    if name not in NAMES:
        raise ConfigError(
            f"study {name[:80]!r} does not exist: choose one of {', '.join(NAMES)}, or name a"
            " Python file."
        )
    return import_module(f"ganboard.gan.studies.{name.replace('-', '_')}")
