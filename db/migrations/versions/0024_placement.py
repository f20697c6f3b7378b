"""Owner and priority of a run, labels of a worker, machines that take no runs"""

from __future__ import annotations

import sqlalchemy as sa
import sqlmodel.sql.sqltypes
from alembic import op

import ganboard.db.types

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

Text = ganboard.db.types.Text
Json = ganboard.db.types.Json


def upgrade() -> None:
    op.add_column("run", sa.Column("owner", Text(), server_default=sa.text("''"), nullable=False))
    op.add_column("run", sa.Column("priority", sa.Integer(), server_default="0", nullable=False))
    op.add_column("worker", sa.Column("labels", Json, server_default="[]", nullable=False))
    op.create_table(
        "draining",
        sa.Column("machine", Text(), nullable=False),
        sa.Column("since", sqlmodel.sql.sqltypes.UTCDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("machine", name=op.f("pk_draining")),
    )
