"""Which version answers, and what takes the canary's requests away."""

from __future__ import annotations

import pytest

from ganboard.worker.serving.split import LEAST, Outcome, Split


def fill(
    split: Split, *, canary: bool, count: int = LEAST, outcome: Outcome = "ok", seconds: float = 0.1
) -> list[str]:
    """The reasons that `count` such answers gave."""
    return [reason for _ in range(count) if (reason := split.note(canary, outcome, seconds))]


@pytest.mark.parametrize("share", [0, 0.1, 0.5, 1])
def test_the_share_of_the_canary_is_that_of_the_ids(share: float) -> None:
    split = Split(share)
    taken = [split.takes(f"request {number}") for number in range(4000)]
    assert sum(taken) / 4000 == pytest.approx(share, abs=0.025)
    # an id always meets the same version
    assert taken == [split.takes(f"request {number}") for number in range(4000)]


def test_a_canary_that_does_as_well_keeps_its_share() -> None:
    split = Split(0.5)
    for _ in range(10):
        assert not fill(split, canary=False) + fill(split, canary=True, seconds=0.12)
    assert split.share == 0.5


@pytest.mark.parametrize(
    ("outcome", "count", "words"),
    [
        ("not finite", 1, "its outputs are not finite"),
        ("error", LEAST, "100% of its requests failed, compared with 0% for the main version"),
    ],
)
def test_a_canary_that_fails_is_rolled_back_once(outcome: Outcome, count: int, words: str) -> None:
    split = Split(0.5)
    fill(split, canary=False)
    assert fill(split, canary=True, outcome=outcome, count=count + 5) == [words]
    assert (split.share, split.reason) == (0, words)
    assert not any(split.takes(str(number)) for number in range(100))


def test_a_slow_canary_is_rolled_back() -> None:
    split = Split(0.5)
    fill(split, canary=False)
    assert fill(split, canary=True, seconds=0.2) == [
        "its median latency is 200 ms, compared with 100 ms for the main version"
    ]


def test_a_main_version_that_fails_as_often_says_nothing_against_the_canary() -> None:
    split = Split(0.5)
    for outcome in ("ok", "error", "not finite"):
        fill(split, canary=False, outcome=outcome)
    for outcome in ("ok", "error", "ok", "not finite"):
        assert not fill(split, canary=True, outcome=outcome, count=LEAST // 2)
    assert split.share == 0.5


def test_few_answers_say_nothing_about_rates() -> None:
    split = Split(0.5)
    assert not fill(split, canary=True, outcome="error", count=LEAST - 1)
    assert fill(split, canary=True, outcome="error", count=1)
