"""A run, its export, and another home to import it into."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ganboard.db.models import Run
from ganboard.worker.context import Context
from ganboard.worker.interchange.export import export

MakeRun = Callable[..., Run]


@pytest.fixture
def run(make_run: MakeRun) -> Run:
    return make_run("measured elsewhere", epochs=3, steps_per_epoch=4, quality_every=1)


@pytest.fixture
def folder(context: Context, run: Run, tmp_path: Path) -> Path:
    export(context, run, tmp_path / "out")
    return tmp_path / "out"


@pytest.fixture
def there(
    context: Context, folder: Path, tmp_path: Path, new_home: Callable[[Path], Context]
) -> Context:
    """Another home."""
    return new_home(tmp_path / "there")
