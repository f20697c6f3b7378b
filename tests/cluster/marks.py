"""What tests over several hosts need, and how long one may take."""

from __future__ import annotations

import pytest

from tests.cluster.network import reason
from tests.crash.services.postgres import binaries

NO_POSTGRES = None if binaries() else "PostgreSQL's programs are not installed"


def hosts(*missing: str | None, seconds: float = 1500) -> list[pytest.MarkDecorator]:
    """Marks of a module, skipped for the first reason why hosts or anything else is `missing`."""
    why_not = next(filter(None, (reason(), *missing)), None)
    return [
        pytest.mark.slow,
        pytest.mark.thorough,
        pytest.mark.timeout(seconds),
        pytest.mark.skipif(why_not is not None, reason=str(why_not)),
    ]
