"""A run of which images can be drawn."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ganboard.db.models import Run
from ganboard.gan.config import parse
from ganboard.worker.context import Context
from tests.stored import store
from tests.unit.worker.requests.image_requests import checkpoints_of

MakeRun = Callable[..., Run]


@pytest.fixture
def run(context: Context, make_run: MakeRun) -> Run:
    """A finished run with a real checkpoint of step 12."""
    found = make_run("drawable")
    store(parse(found.config), checkpoints_of(context, found))
    return found
