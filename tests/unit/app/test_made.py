"""What sessions share of one version."""

from __future__ import annotations

import pytest

from ganboard.app.made import ENTRIES, Made


def test_each_thing_is_built_once_until_others_were_needed_more() -> None:
    made, built = Made(), []

    def get(key: int) -> int:
        return made.of(key, lambda: built.append(key) or -key)  # type: ignore[func-returns-value]

    for key in [*range(ENTRIES), 0, ENTRIES, 0, 1]:
        assert get(key) == -key
    assert built == [*range(ENTRIES), ENTRIES, 1]


def test_to_build_one_thing_may_need_another() -> None:
    made = Made()
    assert made.of("sum", lambda: 1 + made.of("part", lambda: 2)) == 3
    assert made.of("part", pytest.fail) == 2


def test_what_could_not_be_built_is_built_again() -> None:
    made = Made()
    with pytest.raises(ZeroDivisionError):
        made.of("broken", lambda: 1 // 0)
    assert made.of("broken", lambda: 3) == 3
