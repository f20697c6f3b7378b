"""A run's configuration holds the settings of its model alone

Before, each run stored the settings of all models, those of others at their defaults. Runs of both
kinds would not count as equal.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from ganboard.db.types import Json

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

IMAGES_ALONE = (
    "skip_unreadable",
    "latent_dim",
    "table1_literal",
    "generator_batch_norm",
    "discriminator_batch_norm",
    "d_steps",
    "loss",
    "gradient_penalty",
    "r1",
    "label_smoothing",
    "convolution",
)
OF_OTHERS = {"dcgan": ("geometry",), "gan3d": IMAGES_ALONE, "pix2pix": (*IMAGES_ALONE, "recompute")}


def upgrade() -> None:
    run = sa.table("run", sa.column("id", sa.String), sa.column("config", Json))
    for run_id, config in op.get_bind().execute(sa.select(run)).all():
        own = _own(config)
        if own != config:
            op.execute(sa.update(run).where(run.c.id == run_id).values(config=own))


def _own(config: Any) -> Any:
    """A configuration without the settings of other models; anything else as it is."""
    if not isinstance(config, dict):
        return config
    model = config.get("model", "dcgan")
    others = OF_OTHERS.get(model, ()) if isinstance(model, str) else ()
    return {name: value for name, value in config.items() if name not in others}
