"""Quality of showers and flows"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

import ganboard.db.types

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

MEASURES = (
    *(
        "objective",
        "moment_error",
        "profile_error",
        "angle_error",
        "sampling_error",
        "correlation_error",
        "empty",
    ),
    *("l1", "l1_train", "l1_standing"),
)


def upgrade() -> None:
    for name in MEASURES:
        op.add_column("quality", sa.Column(name, ganboard.db.types.Real(), nullable=True))
