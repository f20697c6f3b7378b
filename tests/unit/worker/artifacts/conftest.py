"""The stores that the tests of this folder use, and two machines that share one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ganboard.db.settings import Settings
from ganboard.worker.context import Context
from tests.stores import s3, url

__all__ = ["s3", "url"]


@pytest.fixture
def here(context: Context, url: str) -> Context:
    """This machine, with the store."""
    settings = context.settings.model_copy(update={"store": url, "machine_wait": "100"})
    return replace(context, settings=settings)


@pytest.fixture
def other(here: Context, tmp_path: Path) -> Context:
    """Another machine with the same database and store."""
    settings = Settings(home=tmp_path / "other", store=here.settings.store)
    settings.prepare_home()
    return replace(here, settings=settings)
