"""When a run was moved to the trash"""

from __future__ import annotations

import sqlalchemy as sa
import sqlmodel.sql.sqltypes
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

# partial: the runs outside the trash must not be looked up through it
TRASHED = sa.text("deleted_at IS NOT NULL")


def upgrade() -> None:
    op.add_column(
        "run", sa.Column("deleted_at", sqlmodel.sql.sqltypes.UTCDateTime(), nullable=True)
    )
    op.create_index(
        op.f("ix_run_deleted_at"),
        "run",
        ["deleted_at"],
        sqlite_where=TRASHED,
        postgresql_where=TRASHED,
    )
