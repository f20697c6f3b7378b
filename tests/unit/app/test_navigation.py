"""What the URL may say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from ganboard.app import navigation
from ganboard.db.ids import new_id


def from_url(read: Callable[[], Any], query: dict[str, Any]) -> Any:
    """What `read` returns on a page with these URL parameters."""

    def page(name: str) -> None:
        import streamlit as st

        from ganboard.app import navigation

        st.session_state["read"] = getattr(navigation, name)()

    at = AppTest.from_function(page, args=(read.__name__,))
    for key, value in query.items():
        at.query_params[key] = value
    at.run()
    assert not at.exception
    return at.session_state["read"]


@pytest.mark.parametrize(
    "value", ["", "../../etc/passwd", "ABC", "a" * 33, "x;drop table run", "١٢٣", "<script>", "a b"]
)
def test_what_cannot_be_an_id_is_ignored(value: str) -> None:
    assert from_url(navigation.run_param, {"run": value}) is None


def test_ids_are_read() -> None:
    run_id = new_id()
    assert from_url(navigation.run_param, {"run": run_id}) == run_id
    assert from_url(navigation.clone_param, {"clone": run_id}) == run_id
    assert from_url(navigation.run_param, {}) is None


def test_lists_of_ids_come_with_commas_or_repeated_without_doubles() -> None:
    assert from_url(navigation.runs_param, {"runs": "aa,bb, aa,CC"}) == ["aa", "bb"]
    assert from_url(navigation.runs_param, {"runs": ["aa", "bb,dd"]}) == ["aa", "bb", "dd"]
    assert (
        from_url(navigation.runs_param, {"runs": ",".join(new_id() for _ in range(80))}).__len__()
        == navigation.MAX_COMPARED
    )
