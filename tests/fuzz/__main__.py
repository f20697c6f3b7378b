"""`python -m tests.fuzz [EXAMPLES] [arguments of pytest]`: the thorough run, and a table of cases
and findings by group.

EXAMPLES (default 1000) is how often a cheap test is tried; slow ones take a share of it.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


class Findings:
    """Failed tests by group, and the seconds that each group took."""

    def __init__(self) -> None:
        self.failed: Counter[str] = Counter()
        self.seconds: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: Any) -> None:
        group = Path(report.nodeid.split("::")[0]).stem.removeprefix("test_")
        self.failed[group] += report.failed
        self.seconds[group] += report.duration


def main() -> int:
    rest = sys.argv[1:]
    examples = rest.pop(0) if rest and rest[0].isdigit() else "1000"
    os.environ["GANBOARD_FUZZ_EXAMPLES"] = examples

    import pytest

    findings, began = Findings(), time.monotonic()
    paths = [] if any(Path(word.split("::")[0]).exists() for word in rest) else [str(FOLDER)]
    code = pytest.main([*paths, "--timeout=0", "-q", *rest], plugins=[findings])
    # not before pytest has begun: it would not rewrite hypothesis's asserts
    from tests.fuzz.cases import counted

    print(f"\n{'group':<14}{'cases':>10}{'findings':>10}{'seconds':>9}")
    for group in sorted(counted):
        failed, seconds = findings.failed[group], findings.seconds[group]
        print(f"{group:<14}{counted[group]:>10,}{failed:>10}{seconds:>9.0f}")
    total = time.monotonic() - began
    print(f"{'all':<14}{counted.total():>10,}{findings.failed.total():>10}{total:>9.0f}")
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
