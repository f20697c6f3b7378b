"""The two profiles of the fuzz tests, which `tests.fuzz.cases.fuzzed` applies."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

from tests.served import as_served as as_served

# a fixture is made once per test, not per case, which is what is wanted; and slow tests have few
# cases
COMMON = {
    "deadline": None,
    "database": None,
    "suppress_health_check": list(HealthCheck),
    "print_blob": True,
}

settings.register_profile("quick", derandomize=True, **COMMON)  # type: ignore[arg-type]
settings.register_profile("thorough", **COMMON)  # type: ignore[arg-type]
