"""Alembic's entry: runs migrations on the connection that `db.migrate` hands over, inside its
transaction."""

from __future__ import annotations

from alembic import context
from sqlmodel import SQLModel

import ganboard.db.models  # noqa: F401  # registers the tables

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=SQLModel.metadata,
    render_as_batch=True,
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
