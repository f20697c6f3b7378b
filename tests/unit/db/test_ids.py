"""Ids."""

from __future__ import annotations

import pytest

from ganboard.db.ids import is_id, new_id


def test_ids_are_short_and_unlike() -> None:
    ids = {new_id() for _ in range(2000)}
    assert len(ids) == 2000
    assert {len(run_id) for run_id in ids} == {10}
    assert not set("".join(ids)) & set("il1o0 /.%_ABC")
    assert all(map(is_id, ids))


@pytest.mark.parametrize(
    "text", ["", "a" * 33, "A", "a/b", "..", "a\n", "a\N{ARABIC-INDIC DIGIT ONE}"]
)
def test_other_text_is_no_id(text: str) -> None:
    assert not is_id(text)
