"""What a browser sends after a panel was dragged."""

from __future__ import annotations

import pytest

from ganboard.app.panels.dragging import checked


@pytest.mark.parametrize(
    ("sent", "found"),
    [
        ([0, 2], (0, 2)),
        (None, None),
        ([0], None),
        ([0, 3], None),
        ([-1, 0], None),
        (["0", 1], None),
        ({"from": 0}, None),
    ],
)
def test_only_two_places_of_the_board_count(sent: object, found: tuple[int, int] | None) -> None:
    assert checked(sent, 3) == found
