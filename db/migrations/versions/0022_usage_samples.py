"""What each process of a run and each device of its machine used"""

from __future__ import annotations

import sqlalchemy as sa
import sqlmodel.sql.sqltypes
from alembic import op

import ganboard.db.types

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

Text = ganboard.db.types.Text
Real = ganboard.db.types.Real


def upgrade() -> None:
    op.create_table(
        "usage_sample",
        sa.Column("run_id", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column("at", sqlmodel.sql.sqltypes.UTCDateTime(), nullable=False),
        sa.Column("name", Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=True),
        sa.Column("cpu_percent", Real(), nullable=True),
        sa.Column("rss_bytes", Real(), nullable=True),
        sa.Column("gpu_percent", Real(), nullable=True),
        sa.Column("gpu_memory_bytes", Real(), nullable=True),
        sa.Column("watts", Real(), nullable=True),
        sa.Column("note", Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["run_id"], ["run.id"], name=op.f("fk_usage_sample_run_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("run_id", "at", "name", name=op.f("pk_usage_sample")),
    )
