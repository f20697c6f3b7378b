"""Memorization, and the seconds that preparing an evaluation takes"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

import ganboard.db.types

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("memorization", "preparation_seconds"):
        op.add_column("quality", sa.Column(name, ganboard.db.types.Real(), nullable=True))
