"""Where a version of a model comes from: data, source, and the evaluation of its epoch."""

from __future__ import annotations

import subprocess
from contextlib import suppress
from pathlib import Path

from ganboard.db.models import Run
from ganboard.db.runs import queries
from ganboard.gan.config import RunConfig
from ganboard.gan.data.dataset import DatasetError
from ganboard.gan.data.digest import digest
from ganboard.gan.quality.declared import by_qualified_name, ordered
from ganboard.gan.settings.features import recorded
from ganboard.worker.context import Context


def quality(context: Context, run: Run, epoch: int) -> dict[str, float]:
    """The measures of the evaluation after `epoch` that are numbers."""
    for one in queries.qualities(context.engine, run.id):
        if one.epoch == epoch:
            named = by_qualified_name(one.measures, recorded(run.facts))
            return {name: value for name, value in ordered(named).items() if value == value}
    return {}


def data_digest(context: Context, config: RunConfig) -> str | None:
    """SHA-256 of the data set as it is here now; None for data that are gone or refused."""
    with suppress(DatasetError):
        return digest(config, context.settings.data)
    return None


def commit_id() -> str | None:
    """The commit of this source, if it lies in a checkout."""
    root = Path(__file__).parents[3]
    if not (root / ".git").exists():
        return None
    with suppress(OSError, subprocess.SubprocessError):
        said = subprocess.run(
            ["git", "-C", str(root), "rev-parse", "HEAD"],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
        return said.stdout.strip()
    return None
