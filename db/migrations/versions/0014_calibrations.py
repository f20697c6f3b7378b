"""Step times measured on devices, beside what rehearsals estimated"""

from __future__ import annotations

import sqlalchemy as sa
import sqlmodel.sql.sqltypes
from alembic import op

import ganboard.db.types

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "calibration",
        sa.Column("machine", ganboard.db.types.Text(), nullable=False),
        sa.Column("target", ganboard.db.types.Text(), nullable=False),
        sa.Column("key", ganboard.db.types.Text(), nullable=False),
        sa.Column("family", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column("model", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column("precision", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column("device", ganboard.db.types.Text(), nullable=False),
        sa.Column("measured_seconds", ganboard.db.types.Real(), nullable=False),
        sa.Column("estimated_seconds", ganboard.db.types.Real(), nullable=True),
        sa.Column("measured_at", sqlmodel.sql.sqltypes.UTCDateTime(), nullable=False),
        sa.Column("imported_at", sqlmodel.sql.sqltypes.UTCDateTime(), nullable=True),
        sa.Column("facts", ganboard.db.types.Json, nullable=False, server_default="{}"),
        sa.PrimaryKeyConstraint("machine", "target", "key", name=op.f("pk_calibration")),
    )
    op.create_index("ix_calibration_family", "calibration", ["family", "model", "precision"])
