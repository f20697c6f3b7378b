"""Revisions of the data sets that code makes. Runs on different ones learned from different
examples.

Free of TensorFlow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

FACT = "data_revision"  # of a run, see `gan.events.FACTS`
_REVISIONS = {"showers": 2}  # raise it with any change of the examples that a seed gives


def current(config: Mapping[str, Any]) -> int:
    """The revision that this version makes of the data set in a run's settings; 1 where it has
    never changed, or is read from files."""
    return _REVISIONS.get(str(config.get("dataset")), 1)


def recorded(facts: Mapping[str, Any]) -> int:
    """The revision that a run learned from, by its facts."""
    return int(facts.get(FACT, 1))
