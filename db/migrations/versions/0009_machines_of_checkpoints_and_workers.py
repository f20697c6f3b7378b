"""Machines of checkpoints and workers"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

import ganboard.db.types

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("checkpoint", sa.Column("machine", ganboard.db.types.Text(), nullable=True))
    op.add_column("worker", sa.Column("machine", ganboard.db.types.Text(), nullable=True))
    op.add_column("worker", sa.Column("boot", ganboard.db.types.Text(), nullable=True))
