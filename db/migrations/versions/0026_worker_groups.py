"""Runs that several machines train, and jobs of other schedulers"""

from __future__ import annotations

import sqlalchemy as sa
import sqlmodel.sql.sqltypes
from alembic import op

import ganboard.db.types

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None

Text = ganboard.db.types.Text
Json = ganboard.db.types.Json
Plain = sqlmodel.sql.sqltypes.AutoString
Time = sqlmodel.sql.sqltypes.UTCDateTime


def upgrade() -> None:
    op.add_column("run", sa.Column("placement", Plain(), server_default="workers", nullable=False))
    op.add_column(
        "worker", sa.Column("address", Text(), server_default=sa.text("''"), nullable=False)
    )
    op.create_table(
        "member",
        sa.Column("run_id", Plain(), nullable=False),
        sa.Column("index", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("worker", Text(), nullable=False),
        sa.Column("machine", Text(), nullable=False),
        sa.Column("host", Text(), nullable=False),
        sa.Column("address", Text(), nullable=False),
        sa.Column("ports", Json, nullable=False),
        sa.Column("lease_until", Time(), nullable=False),
        sa.Column("leaving", sa.Boolean(), nullable=False),
        sa.Column("ended", sa.Boolean(), nullable=False),
        sa.Column("failure", Text(), nullable=True),
        sa.Column("final", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"], ["run.id"], name=op.f("fk_member_run_id_run"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("run_id", "index", name=op.f("pk_member")),
        sa.UniqueConstraint("worker", name="uq_member_worker"),
    )
    op.create_table(
        "scheduler_job",
        sa.Column("run_id", Plain(), nullable=False),
        sa.Column("scheduler", Plain(), nullable=False),
        sa.Column("job_id", Text(), nullable=False),
        sa.Column("state", Text(), nullable=False),
        sa.Column("reason", Text(), nullable=False),
        sa.Column("ended", sa.Boolean(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("submitted_at", Time(), nullable=True),
        sa.ForeignKeyConstraint(
            ["run_id"], ["run.id"], name=op.f("fk_scheduler_job_run_id_run"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_scheduler_job")),
    )
