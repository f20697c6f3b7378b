"""What lies in the artifact store"""

from __future__ import annotations

import sqlalchemy as sa
import sqlmodel.sql.sqltypes
from alembic import op

import ganboard.db.types

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

Text = ganboard.db.types.Text
Plain = sqlmodel.sql.sqltypes.AutoString


def upgrade() -> None:
    op.create_table(
        "artifact",
        sa.Column("run_id", Text(), nullable=False),
        sa.Column("name", Text(), nullable=False),
        sa.Column("digest", Plain(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("step", sa.Integer(), nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=True),
        sa.Column("epoch", sa.Integer(), nullable=True),
        sa.Column("stored_at", sqlmodel.sql.sqltypes.UTCDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "name", name=op.f("pk_artifact")),
    )
