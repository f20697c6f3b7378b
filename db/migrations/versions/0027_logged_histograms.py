"""Histograms that scripts log"""

from __future__ import annotations

import sqlalchemy as sa
import sqlmodel.sql.sqltypes
from alembic import op

import ganboard.db.types

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None

Text = ganboard.db.types.Text
Array = ganboard.db.types.Float64Array
Plain = sqlmodel.sql.sqltypes.AutoString


def upgrade() -> None:
    op.create_table(
        "logged_histogram",
        sa.Column("run_id", Plain(), nullable=False),
        sa.Column("name", Text(), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("time", ganboard.db.types.Real(), nullable=False),
        sa.Column("edges", Array(), nullable=False),
        sa.Column("counts", Array(), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"], ["run.id"], name=op.f("fk_logged_histogram_run_id_run"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("run_id", "name", "step", name=op.f("pk_logged_histogram")),
    )
