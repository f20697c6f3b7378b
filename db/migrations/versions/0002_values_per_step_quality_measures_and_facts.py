"""Values per step, quality, measures of each epoch and facts of a run"""

from __future__ import annotations

import sqlalchemy as sa
import sqlmodel.sql.sqltypes
from alembic import op

import ganboard.db.types

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "step_series",
        sa.Column("run_id", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("name", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("values", ganboard.db.types.Float32Array(), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"], ["run.id"], name=op.f("fk_step_series_run_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("run_id", "epoch", "name", name=op.f("pk_step_series")),
    )
    op.create_table(
        "quality",
        sa.Column("run_id", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("made_at", sqlmodel.sql.sqltypes.UTCDateTime(), nullable=False),
        sa.Column("seconds", ganboard.db.types.Real(), nullable=False),
        sa.Column("training_seconds", ganboard.db.types.Real(), nullable=False),
        sa.Column("fid", ganboard.db.types.Real(), nullable=True),
        sa.Column("kid", ganboard.db.types.Real(), nullable=True),
        sa.Column("precision", ganboard.db.types.Real(), nullable=True),
        sa.Column("recall", ganboard.db.types.Real(), nullable=True),
        sa.Column("density", ganboard.db.types.Real(), nullable=True),
        sa.Column("coverage", ganboard.db.types.Real(), nullable=True),
        sa.Column("class_distance", ganboard.db.types.Real(), nullable=True),
        sa.Column("diversity", ganboard.db.types.Real(), nullable=True),
        sa.Column("histogram", ganboard.db.types.Float32Array(), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"], ["run.id"], name=op.f("fk_quality_run_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("run_id", "epoch", name=op.f("pk_quality")),
    )
    # with a default of the database's own neither table has to be rebuilt
    op.add_column(
        "epoch", sa.Column("measures", ganboard.db.types.Json, server_default="{}", nullable=False)
    )
    op.add_column(
        "run", sa.Column("facts", ganboard.db.types.Json, server_default="{}", nullable=False)
    )
