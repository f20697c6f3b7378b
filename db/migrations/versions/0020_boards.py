"""Boards of panels, under a name"""

from __future__ import annotations

import sqlalchemy as sa
import sqlmodel.sql.sqltypes
from alembic import op

import ganboard.db.types

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "saved_board",
        sa.Column("owner", ganboard.db.types.Text(), nullable=False),
        sa.Column("name", ganboard.db.types.Text(), nullable=False),
        sa.Column("panels", ganboard.db.types.Json, nullable=False),
        sa.Column("saved_at", sqlmodel.sql.sqltypes.UTCDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("owner", "name", name=op.f("pk_saved_board")),
    )
