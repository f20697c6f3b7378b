"""How the end of a trainer process is put into words."""

from __future__ import annotations

import re
import signal

import pytest

from ganboard.worker.queue.trainers import death
from ganboard.worker.training.process_group import EXIT_HANGS, EXIT_PARTNER, Ended


@pytest.mark.parametrize(
    ("end", "size", "words"),
    [
        (Ended(0, -signal.SIGKILL), 1, ("The trainer was killed by SIGKILL", 5)),
        (Ended(0, 3), 1, ("The trainer ended with exit code 3", 5)),
        (
            Ended(0, EXIT_HANGS),
            1,
            ("The trainer exited because training stalled (stall_seconds)", 2),
        ),
        (
            Ended(0, EXIT_PARTNER),
            2,
            ("Rank 0 of 2 trainer processes lost its connection to another one", 5),
        ),
        (Ended(1, -signal.SIGSEGV), 2, ("Rank 1 of 2 trainer processes was killed by SIGSEGV", 5)),
        (Ended(2, 70), 4, ("Rank 2 of 4 trainer processes ended with exit code 70", 5)),
    ],
)
def test_a_death_is_put_into_words(end: Ended, size: int, words: tuple[str, int]) -> None:
    assert death(end, size, memory_ran_out=False) == words


def test_a_death_without_memory_says_how_much_there_was() -> None:
    text, limit = death(Ended(0, -signal.SIGKILL), 1, memory_ran_out=True)
    assert re.fullmatch(
        r"The trainer was killed because memory ran out \(it used \d+\.\d of \d+\.\d GiB\)\. Clone"
        r" the run with a smaller batch_size",
        text,
    )
    assert limit == 3
    assert death(Ended(0, -signal.SIGTERM), 1, memory_ran_out=True) == (
        "The trainer was killed by SIGTERM",
        5,
    )
