"""Studies and the runs that they count"""

from __future__ import annotations

import sqlalchemy as sa
import sqlmodel.sql.sqltypes
from alembic import op

import ganboard.db.types

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "study",
        sa.Column("id", ganboard.db.types.Text(), nullable=False),
        sa.Column("name", ganboard.db.types.Text(), nullable=False),
        sa.Column("title", ganboard.db.types.Text(), nullable=False),
        sa.Column("definition", ganboard.db.types.Json, nullable=False),
        sa.Column("created_at", sqlmodel.sql.sqltypes.UTCDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_study")),
    )
    op.create_table(
        "study_run",
        sa.Column("study_id", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column("part", ganboard.db.types.Text(), nullable=False),
        sa.Column("run_id", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"], ["run.id"], name=op.f("fk_study_run_run_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["study_id"], ["study.id"], name=op.f("fk_study_run_study_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("study_id", "part", "run_id", name=op.f("pk_study_run")),
    )
