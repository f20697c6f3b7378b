"""How far a phase of a run is, where the phase reports it"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

import ganboard.db.types

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("run", sa.Column("phase_progress", ganboard.db.types.Text(), nullable=True))
