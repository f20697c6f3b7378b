"""Claims: statements about two configurations, and the runs that test them"""

from __future__ import annotations

import sqlalchemy as sa
import sqlmodel.sql.sqltypes
from alembic import op

import ganboard.db.types

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

Text = ganboard.db.types.Text
Real = ganboard.db.types.Real
Json = ganboard.db.types.Json
Moment = sqlmodel.sql.sqltypes.UTCDateTime
STATES = ("open", "supported", "refuted", "undecided", "invalid", "stopped")


def upgrade() -> None:
    op.create_table(
        "stated_claim",
        sa.Column("id", Text(), nullable=False),
        sa.Column("statement", Text(), nullable=False),
        sa.Column("treatment", Json, nullable=False),
        sa.Column("control", Json, nullable=False),
        sa.Column("given", Json, server_default="{}", nullable=False),
        sa.Column("seed", sa.Integer(), nullable=False),
        sa.Column("pairs", sa.Integer(), nullable=False),
        sa.Column("hours", Real(), nullable=True),
        sa.Column("confidence", Real(), nullable=False),
        sa.Column("power", Real(), nullable=False),
        sa.Column("status", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column("reasons", Json, nullable=False),
        sa.Column("evidence", Json, nullable=False),
        sa.Column("machine", Json, nullable=True),
        sa.Column("created_at", Moment(), nullable=False),
        sa.Column("ended_at", Moment(), nullable=True),
        sa.CheckConstraint(
            "status IN ({})".format(", ".join(f"'{state}'" for state in STATES)),
            name=op.f("ck_stated_claim_status"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_stated_claim")),
    )
    op.create_table(
        "claim_run",
        sa.Column("claim_id", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column("pair", sa.Integer(), nullable=False),
        sa.Column("arm", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column("run_id", Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["claim_id"],
            ["stated_claim.id"],
            name=op.f("fk_claim_run_claim_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("claim_id", "pair", "arm", name=op.f("pk_claim_run")),
    )
    op.create_index("ix_claim_run_run_id", "claim_run", ["run_id"])
