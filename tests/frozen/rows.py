"""Rows for every table with values of every kind, the awkward ones first: NaN, negative zero, the
least number, any script, any byte."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy import Engine, inspect
from sqlmodel import SQLModel
from sqlmodel.sql.sqltypes import UTCDateTime

from ganboard.db.models import STATUSES
from ganboard.db.types import Float32Array, Float64Array, Real

RUNS = len(STATUSES)
EPOCHS = 2  # of each run
MOMENT = datetime(2026, 2, 28, 23, 59, 59, 123456, tzinfo=UTC)
REALS = (math.nan, -0.0, math.inf, 5e-324, 0.1, -math.inf, 1.7976931348623157e308)
TEXTS = (
    "é 漢字 👩‍👩‍👧‍👦 \u2028",
    "'; DROP TABLE run; --",
    "مرحبا",
    "",
    "line\nline\ttab",
    "=1+1",
    "x" * 300,
)
CONFIG = {
    "batch_size": 64,
    "epochs": 2,
    "strategy": "auto",
    "beta": 0.5,
    "none": None,
    "nested": {"ü": [1, 2.5, True, "\u2029"]},
}


def fill(engine: Engine) -> None:
    """Put rows into every table that is there, into the columns that are there: a database of any
    revision."""
    with engine.begin() as connection:
        there = inspect(connection)
        for table in SQLModel.metadata.sorted_tables:
            if not there.has_table(table.name):
                continue
            known = {column["name"] for column in there.get_columns(table.name)}
            columns = [column for column in table.columns if column.name in known]
            plain = sa.table(
                table.name, *(sa.column(column.name, column.type) for column in columns)
            )
            for number in range(
                RUNS if table.name in PER_RUN else 3 if table.name in ALONE else RUNS * EPOCHS
            ):
                connection.execute(
                    sa.insert(plain).values(
                        {column.name: _value(table.name, column, number) for column in columns}
                    )
                )


PER_RUN = {"run", "tag", "study_run", "claim_run", "request", "artifact", "member", "scheduler_job"}
ALONE = {
    "saved_board",
    "saved_view",
    "study",
    "stated_claim",
    "worker",
    "draining",
    "broken_link",
    "model_version",
    "model_alias",
    "alert_channel",
    "alert_secret",
    "alert_rule",
    "search",
    "api_token",
    "audit_entry",
}


def _run_id(number: int) -> str:
    return f"frozen{number % RUNS:04d}"


def _value(table: str, column: sa.Column[Any], number: int) -> Any:
    if (table, column.name) in MEANT:
        return MEANT[table, column.name](number)
    if column.name in MEANT_ANYWHERE:
        return MEANT_ANYWHERE[column.name](number)
    if column.nullable and number % 3 == 2:
        return sa.null()
    return _of_type(column.type, number)


def _of_type(kind: Any, number: int) -> Any:
    if isinstance(kind, Real):
        return REALS[number % len(REALS)]
    if isinstance(kind, sa.Float):
        return 0.25 * number
    if isinstance(kind, Float32Array):
        return (
            np.array([np.nan, -0.0, np.inf, 1e-45], np.float32)
            if number % 2
            else np.arange(4, dtype=np.float32)
        )
    if isinstance(kind, Float64Array):
        return np.array([number, np.nan, -0.0, 5e-324])
    if isinstance(kind, sa.Boolean):
        return bool(number % 2)
    if isinstance(kind, UTCDateTime):
        return MOMENT + timedelta(seconds=number, microseconds=number)
    if isinstance(kind, sa.JSON):
        return {
            "text": TEXTS[number % len(TEXTS)],
            "number": number / 8,
            "list": [None, True, {"deep": -number}],
        }
    if isinstance(kind, sa.LargeBinary):
        return bytes(range(256)) * (number + 1)
    if isinstance(kind, sa.Integer):
        return number
    return TEXTS[number % len(TEXTS)]


MEANT_ANYWHERE = {
    "run_id": _run_id,
    "attempt": lambda n: 1 + n % 2,
    "epoch": lambda n: 1 + n // RUNS,
}
MEANT = {
    ("run", "id"): _run_id,
    ("run", "status"): lambda n: STATUSES[n],
    ("run", "config"): lambda n: {**CONFIG, "seed": n},
    ("run", "epoch"): lambda n: EPOCHS,
    ("run", "step"): lambda n: 4 * EPOCHS,
    ("run", "steps_per_epoch"): lambda n: 4,
    ("run", "number"): lambda n: n + 1,
    ("run", "external"): lambda n: STATUSES[n] == "finished",
    ("logged_values", "steps"): lambda n: np.arange(4.0),
    ("logged_values", "name"): lambda n: "loss/é",
    ("run", "seconds"): lambda n: 1.5 * n,
    ("run", "deleted_at"): lambda n: MOMENT if STATUSES[n] == "stopped" else sa.null(),
    ("run", "stop_requested_at"): lambda n: sa.null(),
    ("run", "lease_until"): lambda n: sa.null(),
    # JSON's null
    ("run", "hardware"): lambda n: (
        {"host": "box", "versions": {"tensorflow": "2.21.0"}} if n % 2 else None
    ),
    ("epoch", "seconds"): lambda n: 0.1 * (n + 1),  # pages add these up
    ("epoch", "compile_seconds"): lambda n: 5e-324 * n,
    ("epoch", "measures"): lambda n: {"compute_seconds": n / 8, "é": -1e300},
    ("checkpoint", "size"): lambda n: (1 << 40) + n,
    ("checkpoint", "step"): lambda n: 4 * (1 + n // RUNS),
    ("event", "id"): lambda n: 10 + n,
    ("event", "level"): lambda n: ("info", "warning", "error")[n % 3],
    ("saved_board", "name"): lambda n: f"board {n} é",
    ("saved_view", "name"): lambda n: f"view {n} é",
    ("step_series", "name"): lambda n: "g_rate",
    ("metric", "name"): lambda n: ("fid", "memorization", "l1")[n % 3],
    ("study", "id"): lambda n: f"study{n}",
    ("study_run", "study_id"): lambda n: f"study{n % 3}",
    ("stated_claim", "id"): lambda n: f"claim{n}",
    ("stated_claim", "status"): lambda n: ("supported", "undecided", "stopped")[n],
    ("claim_run", "claim_id"): lambda n: f"claim{n % 3}",
    ("claim_run", "arm"): lambda n: ("treatment", "control")[n % 2],
    ("request", "id"): lambda n: f"request{n}",
    ("request", "kind"): lambda n: ("surface", "prediction", "draw")[n % 3],
    ("request", "others"): lambda n: [_run_id(n + 1)],
    ("model_version", "id"): lambda n: f"version{n}",
    ("model_alias", "alias"): lambda n: f"alias{n}",
    ("model_alias", "version_id"): lambda n: f"version{n % 3}",
    ("rehearsal", "key"): lambda n: f"{n:032x}",
    ("calibration", "key"): lambda n: f"{n:032x}",
    ("alert_channel", "id"): lambda n: f"channel{n}",
    ("alert_channel", "name"): lambda n: f"channel {n} é",
    ("alert_channel", "kind"): lambda n: ("slack", "webhook", "email")[n],
    ("alert_secret", "channel_id"): lambda n: f"channel{n}",
    ("alert_rule", "id"): lambda n: f"rule{n}",
    ("alert_rule", "channel_id"): lambda n: f"channel{n}",
    ("alert_rule", "event"): lambda n: ("failed", "metric", "no_progress")[n],
    ("alert_delivery", "id"): lambda n: f"delivery{n}",
    ("alert_delivery", "channel_id"): lambda n: f"channel{n % 3}",
    ("alert_delivery", "rule_id"): lambda n: f"rule{n % 3}",
    ("alert_delivery", "occurrence"): lambda n: f"event {n}",
    ("alert_delivery", "state"): lambda n: ("sent", "cancelled", "gave_up")[n % 3],
    ("search", "id"): lambda n: f"search{n}",
    ("search", "state"): lambda n: ("running", "stopped", "finished")[n],
    ("search_trial", "search_id"): lambda n: f"search{n % 3}",
    ("search_trial", "number"): lambda n: n // 3,
    ("worker", "name"): lambda n: f"box:{n}",
    ("draining", "machine"): lambda n: f"box-{n} é",
    ("broken_link", "source"): lambda n: f"10.0.0.{n}",
    ("run", "placement"): lambda n: "workers",
    ("member", "worker"): lambda n: f"box:{n}",
    ("member", "ports"): lambda n: [20000 + n, 21000 + n],
    ("worker", "labels"): lambda n: [f"label{n}", "lab"],
    ("worker", "kind"): lambda n: ("training", "inference")[n % 2],
    ("api_token", "id"): lambda n: f"token{n}",
    ("api_token", "digest"): lambda n: f"{n:064x}",
    ("api_token", "scope"): lambda n: ("read", "write")[n % 2],
}
