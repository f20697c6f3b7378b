"""Loss surfaces"""

from __future__ import annotations

import sqlalchemy as sa
import sqlmodel.sql.sqltypes
from alembic import op

import ganboard.db.types

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    time, text = sqlmodel.sql.sqltypes.UTCDateTime, sqlmodel.sql.sqltypes.AutoString
    op.create_table(
        "surface",
        sa.Column("id", ganboard.db.types.Text(), nullable=False),
        sa.Column("run_id", text(), nullable=False),
        sa.Column("others", ganboard.db.types.Json, nullable=False),
        sa.Column("options", ganboard.db.types.Json, nullable=False),
        sa.Column("asked_at", time(), nullable=False),
        sa.Column("begun_at", time(), nullable=True),
        sa.Column("beat_at", time(), nullable=True),
        sa.Column("answered_at", time(), nullable=True),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("phase", text(), nullable=False),
        sa.Column("done", sa.Float(), nullable=False),
        sa.Column("error", ganboard.db.types.Text(), nullable=True),
        sa.Column("arrays", sa.LargeBinary(), nullable=True),
        sa.Column("facts", ganboard.db.types.Json, server_default="{}", nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"], ["run.id"], name=op.f("fk_surface_run_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_surface")),
    )
    op.create_index("ix_surface_run_id", "surface", ["run_id"])
