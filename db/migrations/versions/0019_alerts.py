"""Alerts: channels, rules, deliveries; when a run last made progress"""

from __future__ import annotations

import sqlalchemy as sa
import sqlmodel.sql.sqltypes
from alembic import op

import ganboard.db.types

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

Text = ganboard.db.types.Text
Moment = sqlmodel.sql.sqltypes.UTCDateTime


def upgrade() -> None:
    op.add_column("run", sa.Column("progress_at", Moment(), nullable=True))
    op.create_table(
        "alert_channel",
        sa.Column("id", Text(), nullable=False),
        sa.Column("name", Text(), nullable=False),
        sa.Column("kind", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column("masked", Text(), nullable=False),
        sa.Column("options", ganboard.db.types.Json, server_default="{}", nullable=False),
        sa.Column("enabled", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("paused_until", Moment(), nullable=True),
        sa.Column("created_at", Moment(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alert_channel")),
        sa.UniqueConstraint("name", name=op.f("uq_alert_channel_name")),
    )
    op.create_table(
        "alert_secret",
        sa.Column("channel_id", Text(), nullable=False),
        sa.Column("value", Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["channel_id"],
            ["alert_channel.id"],
            name=op.f("fk_alert_secret_channel_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("channel_id", name=op.f("pk_alert_secret")),
    )
    op.create_table(
        "alert_rule",
        sa.Column("id", Text(), nullable=False),
        sa.Column("channel_id", Text(), nullable=False),
        sa.Column("event", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column("condition", Text(), nullable=False),
        sa.Column("minutes", sa.Integer(), nullable=True),
        sa.Column("search", Text(), nullable=False),
        sa.Column("enabled", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("created_at", Moment(), nullable=False),
        sa.Column("since", Moment(), nullable=False),
        sa.Column("since_event", sa.Integer(), nullable=False),
        sa.Column("seen_event", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["channel_id"],
            ["alert_channel.id"],
            name=op.f("fk_alert_rule_channel_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alert_rule")),
    )
    op.create_table(
        "alert_delivery",
        sa.Column("id", Text(), nullable=False),
        sa.Column("channel_id", Text(), nullable=False),
        sa.Column("rule_id", Text(), nullable=True),
        sa.Column("run_id", sqlmodel.sql.sqltypes.AutoString(), nullable=True),
        sa.Column("occurrence", Text(), nullable=False),
        sa.Column("message", ganboard.db.types.Json, server_default="{}", nullable=False),
        sa.Column("state", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("created_at", Moment(), nullable=False),
        sa.Column("next_try_at", Moment(), nullable=False),
        sa.Column("claimed_until", Moment(), nullable=True),
        sa.Column("tried_at", Moment(), nullable=True),
        sa.Column("sent_at", Moment(), nullable=True),
        sa.Column("error", Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["channel_id"],
            ["alert_channel.id"],
            name=op.f("fk_alert_delivery_channel_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["rule_id"],
            ["alert_rule.id"],
            name=op.f("fk_alert_delivery_rule_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["run_id"], ["run.id"], name=op.f("fk_alert_delivery_run_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alert_delivery")),
        sa.UniqueConstraint(
            "rule_id",
            "run_id",
            "occurrence",
            name=op.f("uq_alert_delivery_rule_id_run_id_occurrence"),
        ),
    )
    op.create_index("ix_alert_delivery_state", "alert_delivery", ["state", "next_try_at"])
    op.create_index("ix_alert_delivery_run_id", "alert_delivery", ["run_id"])
