"""The data set street, its presets and its study are called vortex_street

Runs, studies and saved views of before then show, compare and resume like new ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from alembic import op

import ganboard.db.types

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

NAMES = {"street": "vortex_street", "street_tiny": "vortex_street_tiny"}
# in the query of a view's URL
TERM = re.compile(r"\b(dataset(?:=|%3D)|preset(?::|%3A))(street(?:_tiny)?)\b")


def upgrade() -> None:
    for former, name in NAMES.items():
        for table, column in (("run", "preset"), ("study", "name")):
            known = sa.table(table, sa.column(column, sa.String))
            this = known.c[column] == former
            op.execute(sa.update(known).where(this).values({column: name}))
    _rewrite("run", "id", "config", ganboard.db.types.Json, _settings)
    _rewrite("study", "id", "definition", ganboard.db.types.Json, _definition)
    _rewrite("saved_view", "name", "query", sa.String, _query)


def _rewrite(table: str, key: str, column: str, kind: Any, change: Callable[[Any], Any]) -> None:
    """Put `change` of this column into the rows that it changes."""
    known = sa.table(table, sa.column(key, sa.String), sa.column(column, kind))
    for row in op.get_bind().execute(sa.select(known)).all():
        changed = change(row[1])
        if changed != row[1]:
            this = known.c[key] == row[0]
            op.execute(sa.update(known).where(this).values({column: changed}))


def _query(query: str) -> str:
    return TERM.sub(lambda term: term[1] + NAMES[term[2]], query)


def _definition(study: Any) -> Any:
    renamed = _settings(study)
    if isinstance(renamed, dict) and renamed.get("name") in NAMES:
        renamed["name"] = NAMES[renamed["name"]]
    return renamed


def _settings(value: Any) -> Any:
    """A configuration, or anything that holds some."""
    if isinstance(value, list):
        return [_settings(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        name: _dataset(one) if name == "dataset" else _settings(one) for name, one in value.items()
    }


def _dataset(value: Any) -> Any:
    """The value of the setting, or those that a study varies."""
    if isinstance(value, list):
        return [_dataset(one) for one in value]
    return NAMES.get(value, value) if isinstance(value, str) else value
