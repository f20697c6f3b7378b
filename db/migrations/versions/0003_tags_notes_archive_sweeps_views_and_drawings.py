"""Tags, notes, the archive, sweeps, numbers of runs, saved views and drawings"""

from __future__ import annotations

import sqlalchemy as sa
import sqlmodel.sql.sqltypes
from alembic import op

import ganboard.db.types

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "tag",
        sa.Column("run_id", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column("tag", ganboard.db.types.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"], ["run.id"], name=op.f("fk_tag_run_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("run_id", "tag", name=op.f("pk_tag")),
    )
    op.create_table(
        "saved_view",
        sa.Column("name", ganboard.db.types.Text(), nullable=False),
        sa.Column("page", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column("query", ganboard.db.types.Text(), nullable=False),
        sa.Column("saved_at", sqlmodel.sql.sqltypes.UTCDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_saved_view")),
    )
    op.create_table(
        "drawing",
        sa.Column("id", ganboard.db.types.Text(), nullable=False),
        sa.Column("run_id", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("kind", sqlmodel.sql.sqltypes.AutoString(), nullable=False),
        sa.Column("options", ganboard.db.types.Json, server_default="{}", nullable=False),
        sa.Column("asked_at", sqlmodel.sql.sqltypes.UTCDateTime(), nullable=False),
        sa.Column("begun_at", sqlmodel.sql.sqltypes.UTCDateTime(), nullable=True),
        sa.Column("answered_at", sqlmodel.sql.sqltypes.UTCDateTime(), nullable=True),
        sa.Column("error", ganboard.db.types.Text(), nullable=True),
        sa.Column("png", sa.LargeBinary(), nullable=True),
        sa.Column("facts", ganboard.db.types.Json, server_default="{}", nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"], ["run.id"], name=op.f("fk_drawing_run_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_drawing")),
    )
    op.create_index("ix_drawing_asked_at", "drawing", ["asked_at"])
    op.add_column("run", sa.Column("sweep", sqlmodel.sql.sqltypes.AutoString(), nullable=True))
    op.add_column("run", sa.Column("number", sa.Integer(), server_default="0", nullable=False))
    op.add_column("run", sa.Column("note", ganboard.db.types.Text(), nullable=True))
    op.add_column(
        "run", sa.Column("note_version", sa.Integer(), server_default="0", nullable=False)
    )
    op.add_column(
        "run", sa.Column("archived_at", sqlmodel.sql.sqltypes.UTCDateTime(), nullable=True)
    )
    op.create_index("ix_run_sweep", "run", ["sweep"])
    # runs that are here already are numbered in the order of their creation
    op.execute(
        "UPDATE run SET number = (SELECT count(*) FROM run AS earlier WHERE earlier.created_at <"
        " run.created_at OR (earlier.created_at = run.created_at AND earlier.id <= run.id))"
    )
