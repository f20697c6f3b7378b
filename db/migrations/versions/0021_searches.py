"""Searches over settings: what is sought, and the trials"""

from __future__ import annotations

import sqlalchemy as sa
import sqlmodel.sql.sqltypes
from alembic import op

import ganboard.db.types

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

Text = ganboard.db.types.Text
Json = ganboard.db.types.Json
Moment = sqlmodel.sql.sqltypes.UTCDateTime
String = sqlmodel.sql.sqltypes.AutoString


def upgrade() -> None:
    op.add_column("run", sa.Column("pruned_at", Moment(), nullable=True))
    op.create_table(
        "search",
        sa.Column("id", Text(), nullable=False),
        sa.Column("name", Text(), nullable=False),
        sa.Column("preset", String(), nullable=False),
        sa.Column("settings", Json, nullable=False),
        sa.Column("space", Json, nullable=False),
        sa.Column("objective", Json, nullable=False),
        sa.Column("sampler", String(), nullable=False),
        sa.Column("pruner", String(), nullable=False),
        sa.Column("seed", sa.Integer(), nullable=False),
        sa.Column("runs", sa.Integer(), nullable=False),
        sa.Column("hours", ganboard.db.types.Real(), nullable=True),
        sa.Column("parallel", sa.Integer(), nullable=False),
        sa.Column("state", String(), nullable=False),
        sa.Column("message", Text(), nullable=True),
        sa.Column("importance", Json, server_default="{}", nullable=False),
        sa.Column("created_at", Moment(), nullable=False),
        sa.Column("ended_at", Moment(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_search")),
    )
    op.create_index("ix_search_state", "search", ["state"])
    op.create_table(
        "search_trial",
        sa.Column("search_id", Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("run_id", String(), nullable=True),
        sa.Column("params", Json, nullable=False),
        sa.Column("problem", Text(), nullable=True),
        sa.Column("seen_epoch", sa.Integer(), nullable=False),
        sa.Column("pruned_epoch", sa.Integer(), nullable=True),
        sa.Column("created_at", Moment(), nullable=False),
        sa.ForeignKeyConstraint(
            ["search_id"], ["search.id"], name=op.f("fk_search_trial_search_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["run_id"], ["run.id"], name=op.f("fk_search_trial_run_id"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("search_id", "number", name=op.f("pk_search_trial")),
    )
    op.create_index("ix_search_trial_run_id", "search_trial", ["run_id"])
