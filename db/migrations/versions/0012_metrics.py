"""A row for each metric of quality instead of a column"""

from __future__ import annotations

import sqlalchemy as sa
import sqlmodel.sql.sqltypes
from alembic import op

import ganboard.db.types

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

METRICS = (
    *("fid", "kid", "precision", "recall", "density", "coverage", "class_distance", "diversity"),
    *("objective", "moment_error", "profile_error", "angle_error", "sampling_error"),
    *("correlation_error", "empty", "l1", "l1_train", "l1_standing", "memorization"),
)


def upgrade() -> None:
    op.create_table(
        "metric",
        sa.Column("run_id", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("name", ganboard.db.types.Text(), nullable=False),
        sa.Column("value", ganboard.db.types.Real(), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id", "epoch"],
            ["quality.run_id", "quality.epoch"],
            name=op.f("fk_metric_run_id_epoch"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("run_id", "epoch", "name", name=op.f("pk_metric")),
        sqlite_with_rowid=False,
    )
    rows = " UNION ALL ".join(
        f'SELECT run_id, epoch, \'{name}\', "{name}" FROM quality WHERE "{name}" IS NOT NULL'  # noqa: S608
        for name in METRICS
    )
    op.execute(f"INSERT INTO metric (run_id, epoch, name, value) {rows}")
    for name in METRICS:
        op.drop_column("quality", name)
