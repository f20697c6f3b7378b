"""Values per step, quality, measures of each epoch and facts of a run"""

from __future__ import annotations

import sqlalchemy as sa
import sqlmodel.sql.sqltypes
from alembic import op

import db.types

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
        sa.Column("values", db.types.Float32Array(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_step_series_run_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "epoch", "name", name=op.f("pk_step_series")),
    )
    op.create_table(
        "quality",
        sa.Column("run_id", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("made_at", sqlmodel.sql.sqltypes.UTCDateTime(), nullable=False),
        sa.Column("seconds", db.types.Real(), nullable=False),
        sa.Column("training_seconds", db.types.Real(), nullable=False),
        sa.Column("fid", db.types.Real(), nullable=True),
        sa.Column("kid", db.types.Real(), nullable=True),
        sa.Column("precision", db.types.Real(), nullable=True),
        sa.Column("recall", db.types.Real(), nullable=True),
        sa.Column("density", db.types.Real(), nullable=True),
        sa.Column("coverage", db.types.Real(), nullable=True),
        sa.Column("class_distance", db.types.Real(), nullable=True),
        sa.Column("diversity", db.types.Real(), nullable=True),
        sa.Column("histogram", db.types.Float32Array(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_quality_run_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "epoch", name=op.f("pk_quality")),
    )
    # with a default of the database's own neither table has to be rebuilt
    op.add_column("epoch", sa.Column("measures", db.types.Json, server_default="{}", nullable=False))
    op.add_column("run", sa.Column("facts", db.types.Json, server_default="{}", nullable=False))
