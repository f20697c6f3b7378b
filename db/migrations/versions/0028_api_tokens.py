"""Tokens for the REST API, and what was changed through it"""

from __future__ import annotations

import sqlalchemy as sa
import sqlmodel.sql.sqltypes
from alembic import op

import ganboard.db.types

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None

Text = ganboard.db.types.Text
Plain = sqlmodel.sql.sqltypes.AutoString
Moment = sqlmodel.sql.sqltypes.UTCDateTime


def upgrade() -> None:
    op.create_table(
        "api_token",
        sa.Column("id", Text(), nullable=False),
        sa.Column("name", Text(), nullable=False),
        sa.Column("owner", Text(), nullable=False),
        sa.Column("scope", Plain(), nullable=False),
        sa.Column("digest", Plain(), nullable=False),
        sa.Column("created_at", Moment(), nullable=False),
        sa.Column("expires_at", Moment(), nullable=False),
        sa.Column("revoked_at", Moment(), nullable=True),
        sa.Column("used_at", Moment(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_token")),
    )
    op.create_index(op.f("ix_api_token_digest"), "api_token", ["digest"])
    op.create_table(
        "audit_entry",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("at", Moment(), nullable=False),
        sa.Column("who", Text(), nullable=False),
        sa.Column("token_id", Plain(), nullable=True),
        sa.Column("action", Text(), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_entry")),
    )
