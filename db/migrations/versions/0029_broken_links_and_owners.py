"""Connections between machines that broke; whose searches and claims are; a wider index"""

from __future__ import annotations

import sqlalchemy as sa
import sqlmodel.sql.sqltypes
from alembic import op

import ganboard.db.types

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None

Text = ganboard.db.types.Text
Moment = sqlmodel.sql.sqltypes.UTCDateTime


def upgrade() -> None:
    op.drop_index("ix_run_status", table_name="run")
    op.create_index(
        "ix_run_status", "run", ["status", "deleted_at", "archived_at", "note_version", "attempt"]
    )
    for table in ("search", "stated_claim"):
        op.add_column(
            table, sa.Column("owner", Text(), server_default=sa.text("''"), nullable=False)
        )
    op.create_table(
        "broken_link",
        sa.Column("source", Text(), nullable=False),
        sa.Column("target", Text(), nullable=False),
        sa.Column("until", Moment(), nullable=False),
        sa.PrimaryKeyConstraint("source", "target", name=op.f("pk_broken_link")),
    )
