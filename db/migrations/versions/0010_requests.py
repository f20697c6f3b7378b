"""One table of requests instead of drawings and surfaces; heartbeats and kinds of workers

Drawings are left behind: they live an hour, and pages ask again.
"""

from __future__ import annotations

import io
import zipfile

import numpy as np
import sqlalchemy as sa
import sqlmodel.sql.sqltypes
from alembic import op

import ganboard.db.types

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

KEPT = "id, run_id, others, options, asked_at, answered_at, tries, phase, error, facts"
PREDICTION = "prediction"  # in the options of a row of `surface` that was none


def upgrade() -> None:
    text = sqlmodel.sql.sqltypes.AutoString
    time = sqlmodel.sql.sqltypes.UTCDateTime
    op.create_table(
        "request",
        sa.Column("id", ganboard.db.types.Text(), nullable=False),
        sa.Column("kind", ganboard.db.types.Text(), nullable=False),
        sa.Column("run_id", text(), nullable=False),
        sa.Column("others", ganboard.db.types.Json, nullable=False),
        sa.Column("step", sa.Integer(), nullable=True),
        sa.Column("options", ganboard.db.types.Json, server_default="{}", nullable=False),
        sa.Column("asked_at", time(), nullable=False),
        sa.Column("claimed_at", time(), nullable=True),
        sa.Column("heartbeat_at", time(), nullable=True),
        sa.Column("answered_at", time(), nullable=True),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("phase", text(), nullable=False),
        sa.Column("progress", sa.Float(), nullable=False),
        sa.Column("error", ganboard.db.types.Text(), nullable=True),
        sa.Column("result", sa.LargeBinary(), nullable=True),
        sa.Column("facts", ganboard.db.types.Json, server_default="{}", nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"], ["run.id"], name=op.f("fk_request_run_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_request")),
    )
    op.create_index("ix_request_run_id", "request", ["run_id"])
    op.create_index("ix_request_answered_at", "request", ["answered_at", "asked_at"])
    op.execute(
        "INSERT INTO request (kind, claimed_at, heartbeat_at, progress, result,"  # noqa: S608
        f" {KEPT}) SELECT 'surface', begun_at, beat_at, done, arrays, {KEPT} FROM surface"
    )
    _part_predictions()
    op.drop_table("surface")
    op.drop_table("drawing")
    op.alter_column("worker", "beat_at", new_column_name="heartbeat_at")
    op.add_column("worker", sa.Column("kind", text(), server_default="training", nullable=False))
    op.execute("UPDATE worker SET kind = 'inference' WHERE name LIKE '%:painter:%'")


def _part_predictions() -> None:
    """Predictions get a kind of their own, their plain options, and a PNG that no npz is around."""
    request = sa.table(
        "request",
        sa.column("id", sa.String),
        sa.column("kind", sa.String),
        sa.column("options", ganboard.db.types.Json),
        sa.column("error", sa.String),
        sa.column("result", sa.LargeBinary),
    )
    connection = op.get_bind()
    for row in connection.execute(sa.select(request.c.id, request.c.options)).all():
        if not isinstance(row.options, dict) or PREDICTION not in row.options:
            continue
        this = request.c.id == row.id
        values = {"kind": PREDICTION, "options": row.options[PREDICTION]}
        packed = connection.scalar(sa.select(request.c.result).where(this))
        if packed is not None:
            try:
                with np.load(io.BytesIO(packed), allow_pickle=False) as file:
                    values["result"] = file["png"].tobytes()
            except (OSError, ValueError, LookupError, zipfile.BadZipFile):
                values["result"] = None
                values["error"] = "The stored picture is damaged: ask for the prediction again."
        connection.execute(sa.update(request).where(this).values(values))
