"""How much a script may send."""

from __future__ import annotations

MAX_NAME = 80  # characters of a metric or a setting: `db.runs.external` has the same
MAX_STEP = 2**31 - 1  # `db.runs.external` has the same
MAX_TEXT = 4000  # characters of an event
MAX_POINTS = 20_000  # values of one metric in one report
MAX_PNG = 8 << 20  # bytes
MAX_LOG = 32 << 20  # bytes of a run's log
MAX_BODY = 32 << 20  # bytes of a report
MAX_SETTINGS = 500
MAX_METRICS = 200  # of one run: `db.runs.external` has the same
Scalar = str | int | float | bool | None
