"""A queue that is lost, repeated or rolled back: small rounds; `python -m tests.crash.queue_loss`
does large ones."""

from __future__ import annotations

import random

import pytest

from ganboard.worker.context import Context
from tests.crash import queue_loss
from tests.crash.queue_loss import DAMAGES, Damage


@pytest.mark.thorough
@pytest.mark.slow
def test_a_flushed_queue_loses_no_run(context: Context) -> None:
    queue_loss.flushed(context, queued=3)


@pytest.mark.thorough
@pytest.mark.slow
def test_a_repeated_message_trains_once(context: Context) -> None:
    queue_loss.repeated(context, 20)


@pytest.mark.skipif(queue_loss.keeps_one_file(), reason="redis-server 7 splits its log into parts")
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.name)
def test_redis_starts_with_a_damaged_log_or_says_why_not(context: Context, damage: Damage) -> None:
    run_ids = queue_loss.recorded(context, 4)
    words = queue_loss.damaged(context, run_ids, damage, random.Random(0))
    if damage.starts is not None:
        assert (words is None) == damage.starts, words
    assert words != ""
