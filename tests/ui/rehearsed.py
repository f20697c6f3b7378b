"""Stored rehearsals for tests of pages, made by the real analysis of a compiler's program."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine

from ganboard.db import rehearsals
from ganboard.gan.config import RunConfig
from ganboard.gan.rehearsal import report
from ganboard.gan.rehearsal.targets import parse_targets
from tests.unit.gan.rehearsal.test_hlo import LAYERS, program
from tests.unit.gan.rehearsal.test_report import RESULT

MEMORY = {"arguments": 31_000_000, "temporaries": 217_000_000, "code": 24_000_000}
LARGEST = {"batch": 4096, "memory": 16_000_000_000, "too_large": 4224, "compilations": 4}


def store(engine: Engine, config: RunConfig, target: str = "v5e-4", **changes: Any) -> None:
    """A report of `config` on `target`."""
    (aim,) = parse_targets(target)
    adapted = aim.adapted(config)
    result = {**RESULT, **MEMORY}
    found = report.assemble(aim, adapted, "step", [result], [program("v5e-4")], LAYERS)
    found |= {"largest_batch": LARGEST, "seconds": 60.0, "at": 0.0, **changes}
    rehearsals.store(engine, report.key(adapted), target, found)


def refuse(engine: Engine, config: RunConfig, target: str, reason: str) -> None:
    """The report of a target that does not take it."""
    (aim,) = parse_targets(target)
    adapted = aim.adapted(config)
    found = report.refused(aim, adapted, "step", reason)
    rehearsals.store(engine, report.key(adapted), target, found)
