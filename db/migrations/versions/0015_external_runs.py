"""Runs that scripts train themselves, and the metrics that they log"""

from __future__ import annotations

import sqlalchemy as sa
import sqlmodel.sql.sqltypes
from alembic import op

import ganboard.db.types

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "run", sa.Column("external", sa.Boolean(), nullable=False, server_default=sa.text("false"))
    )
    op.add_column("run", sa.Column("reports", sa.Integer(), nullable=False, server_default="0"))
    op.create_table(
        "logged_values",
        sa.Column("run_id", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column("name", ganboard.db.types.Text(), nullable=False),
        sa.Column("block", sa.Integer(), nullable=False),
        sa.Column("steps", ganboard.db.types.Float64Array(), nullable=False),
        sa.Column("times", ganboard.db.types.Float64Array(), nullable=False),
        sa.Column("values", ganboard.db.types.Float64Array(), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"], ["run.id"], name=op.f("fk_logged_values_run_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("run_id", "name", "block", name=op.f("pk_logged_values")),
    )
