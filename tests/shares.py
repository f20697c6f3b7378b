"""The order of tests for `pytest-xdist --dist worksteal`, which first gives each process a share of
equal length, and later moves tests from the end of a share to a process that is done.

So each share begins with what should stay together: the tests of `gan`, which import TensorFlow and
train for their module, in one half of the processes, and those that start processes of their own, a
browser among them, in the other half, the longest first. What is light comes last.
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ENGINE = (HERE / "unit" / "gan",)
PROCESSES = (HERE / "cluster", HERE / "e2e", HERE / "crash", HERE / "integration")


def arranged(tests: list[pytest.Item], processes: int) -> list[pytest.Item]:
    """The tests of each module together, and the modules so that the shares begin as above."""
    by_module = sorted(tests, key=lambda test: test.path)
    engine = [test for test in by_module if _below(test, ENGINE)]
    started = [test for test in by_module if _below(test, PROCESSES)]
    started.sort(key=_allowed, reverse=True)
    light = [test for test in by_module if not _below(test, ENGINE + PROCESSES)]
    # from the last folder on: tests/unit/worker computes with models too, so beside the engine
    light.sort(key=lambda test: test.path, reverse=True)
    half = processes // 2
    order: list[pytest.Item] = []
    for number, heavy in enumerate((*_parts(engine, half), *_parts(started, processes - half))):
        share = (len(tests) - len(order)) // (processes - number)
        filling = max(0, share - len(heavy))
        order += heavy + light[:filling]
        del light[:filling]
    return order + light


def _allowed(test: pytest.Item) -> float:
    """Seconds that a test may take, as far as its markers tell."""
    limit = test.get_closest_marker("timeout")
    return limit.args[0] if limit else 300 if test.get_closest_marker("slow") else 10


def _below(test: pytest.Item, folders: tuple[Path, ...]) -> bool:
    return any(folder in test.path.parents for folder in folders)


def _parts(tests: list[pytest.Item], count: int) -> list[list[pytest.Item]]:
    """Whole modules, in `count` parts of about the same number of tests."""
    parts: list[list[pytest.Item]] = [[] for _ in range(count)]
    for _, module in groupby(tests, key=lambda test: test.path):
        smallest = min(parts, key=len)
        smallest += module
    return parts
