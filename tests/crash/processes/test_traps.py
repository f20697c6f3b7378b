"""A trainer killed at the points where a kill could hurt most, one after the other on one run:
nothing is lost, doubled or different."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ganboard.db.models import Run
from ganboard.db.runs import queries
from ganboard.worker.context import Context
from tests.crash import models
from tests.crash.conftest import FULL, assert_same

# each meets its fate after an epoch of its own is stored, so that no budget of deaths without
# progress runs out
QUICK = [
    "ganboard.db.runs.reports._overlaid:6:after",  # inside a transaction
    "pathlib.Path.rename:2:after",  # it has its name, which is not flushed, and no row lists it
]
THOROUGH = [
    "ganboard.gan.files.flush:3:before",  # the second checkpoint's arrays are written, not flushed
    "ganboard.db.runs.checkpoint_reports.add_checkpoint:2:before",
    "ganboard.db.runs.reports.append_steps:7:before",
    "ganboard.db.runs.reports.append_steps:7:after",
    "ganboard.db.runs.reports.finish_epoch:2:before",
    "ganboard.db.runs.reports.finish_epoch:2:after",
    "ganboard.gan.files.flush:3:after",
    "ganboard.gan.files.flush:4:before",  # its manifest
    "ganboard.gan.files.flush:4:after",
    "pathlib.Path.rename:2:before",
    "ganboard.gan.files.flush_directory:4:after",
    "ganboard.db.runs.checkpoint_reports.add_checkpoint:2:after",
    "ganboard.gan.files.remove:4:before",  # an old one has its .tmp name and is being deleted
    "ganboard.db.runs.reports.add_grid:4:before",
    "ganboard.gan.checkpoint.snapshots.save:1:after",
]
LAST = "ganboard.db.runs.commands.finish:1:before"  # everything is done but the word that it is


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_killed_at_the_worst_points(context: Context, train: Callable[..., Run]) -> None:
    traps = [*QUICK, *(THOROUGH if FULL else []), LAST]
    epochs = 2 * len(traps) + 2
    settings = {"epochs": epochs, "snapshots": 200}
    disturbed = train(*traps, **settings)
    assert disturbed.attempt == len(traps) + 1, "a trap was never met"
    killed = [
        event.text
        for event in queries.events(context.engine, disturbed.id, limit=None)
        if "was killed by SIGKILL" in event.text
    ]
    assert len(killed) == len(traps)
    assert_same(context, train(**settings), disturbed)


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.timeout(900)
@pytest.mark.parametrize("model", list(models.SETTINGS))
def test_every_model_goes_on_to_the_bit(
    context: Context, train: Callable[..., Run], model: str
) -> None:
    traps = ["ganboard.gan.files.flush:3:before", "ganboard.db.runs.reports.finish_epoch:2:before"]
    settings = models.settings(model, context.settings.data) | {"epochs": 6}
    disturbed = train(*traps, **settings)
    assert disturbed.attempt == len(traps) + 1, "a trap was never met"
    assert_same(context, train(**settings), disturbed)


@pytest.mark.slow
@pytest.mark.thorough
def test_an_unreported_last_checkpoint_is_listed(
    context: Context, train: Callable[..., Run]
) -> None:
    disturbed = train("ganboard.db.runs.checkpoint_reports.add_checkpoint:1:before", epochs=1)
    assert disturbed.attempt == 2
    assert_same(context, train(epochs=1), disturbed)
