"""A rehearsal with the real compilers, which are installed for it: 0.7 GB over the network."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from ganboard.db import rehearsals
from ganboard.gan.presets import load
from ganboard.gan.rehearsal import report as reports
from ganboard.worker.context import Context
from ganboard.worker.errors import ServiceFailed
from ganboard.worker.rehearsal import environment
from tests.cli import document

# the limit lets it begin early: a compiler needs 3.5 GB, which the engine's tests take with time
pytestmark = [pytest.mark.thorough, pytest.mark.timeout(1200)]


@pytest.fixture
def compilers(context: Context) -> Iterator[None]:
    """The environment of the compilers in a home of its own."""
    try:
        environment.python(context.settings, print)
    except ServiceFailed as error:
        if "could not be installed" in str(error):
            pytest.skip(str(error))
        raise
    yield
    shutil.rmtree(environment.folder(context.settings))


@pytest.mark.usefixtures("compilers")
def test_a_step_is_compiled_for_gpus_that_are_not_here(context: Context) -> None:
    arguments = ["rehearse", "tiny", "--on", "h100,4xh100", "--no-largest-batch"]
    one, four = document(*arguments)
    for found in (one, four):
        assert found["compiles"], found["reason"]
        (program,) = found["programs"]
        assert program["convolutions"] >= 12
        assert program["host"] == []
        # G has 2.3 and D 0.2 million weights; each has its two moments beside it
        assert found["memory"]["arguments"] > 3 * 4 * 2.4e6
    assert one["collectives"] == 0
    # 4 layers with batch norm, whose statistics are exchanged both ways, and the gradients
    assert four["collectives"] == 7
    assert four["exchanged_bytes"] > 4 * 2.4e6
    stored = rehearsals.of(context.engine, reports.key(load("tiny", {})))
    assert [found["target"] for found in stored] == ["4xh100", "h100"]
    again = document(*arguments)
    assert [found["compile_seconds"] for found in again] == [
        found["compile_seconds"] for found in (one, four)
    ]
