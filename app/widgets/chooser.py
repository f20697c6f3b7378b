"""A chooser of something stored, which the address names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import streamlit as st

Row = TypeVar("Row", bound=Any)


def choose(
    known: Sequence[Row],
    asked: str | None,
    *,
    param: str,
    label: Callable[[Row], str],
    missing: str,
    **look: Any,
) -> Row | None:
    """One of `known`, by its id: the one that the address asks for with `param`, else the first.
    None, and the sentence `missing` on the page, if there is none with that id. `look` goes to
    the selectbox."""
    by_id = {row.id: row for row in known}
    if asked is not None and asked not in by_id:
        st.info(missing, icon=":material/search_off:")
        return None
    key = f"{param}_shown"
    st.session_state[key] = asked or known[0].id
    current = st.selectbox(
        param.capitalize(),
        list(by_id),
        format_func=lambda one: label(by_id[one]),
        key=key,
        on_change=lambda: st.query_params.__setitem__(param, st.session_state[key]),
        **look,
    )
    return by_id[current]
