"""Registered versions of models"""

from __future__ import annotations

import sqlalchemy as sa
import sqlmodel.sql.sqltypes
from alembic import op

import ganboard.db.types

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    time, text = sqlmodel.sql.sqltypes.UTCDateTime, sqlmodel.sql.sqltypes.AutoString
    op.create_table(
        "model_version",
        sa.Column("id", ganboard.db.types.Text(), nullable=False),
        sa.Column("name", ganboard.db.types.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("model", text(), nullable=False),
        sa.Column("variant", text(), nullable=False),
        sa.Column("parent_id", ganboard.db.types.Text(), nullable=True),
        sa.Column("run_id", ganboard.db.types.Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("digest", text(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("quality", ganboard.db.types.Json, server_default="{}", nullable=False),
        sa.Column("created_at", time(), nullable=False),
        sa.Column("removed_at", time(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_model_version")),
        sa.UniqueConstraint("name", "version", name=op.f("uq_model_version_name_version")),
    )
    op.create_table(
        "model_alias",
        sa.Column("name", ganboard.db.types.Text(), nullable=False),
        sa.Column("alias", ganboard.db.types.Text(), nullable=False),
        sa.Column("version_id", ganboard.db.types.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["version_id"],
            ["model_version.id"],
            name=op.f("fk_model_alias_version_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("name", "alias", name=op.f("pk_model_alias")),
    )
