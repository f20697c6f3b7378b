"""Rehearsals of training steps for devices that are not here"""

from __future__ import annotations

import sqlalchemy as sa
import sqlmodel.sql.sqltypes
from alembic import op

import ganboard.db.types

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "rehearsal",
        sa.Column("key", ganboard.db.types.Text(), nullable=False),
        sa.Column("target", ganboard.db.types.Text(), nullable=False),
        sa.Column("stored_at", sqlmodel.sql.sqltypes.UTCDateTime(), nullable=False),
        sa.Column("report", ganboard.db.types.Json, nullable=False),
        sa.PrimaryKeyConstraint("key", "target", name=op.f("pk_rehearsal")),
    )
