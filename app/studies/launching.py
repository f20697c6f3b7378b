"""The built-in studies, and the dialog that launches one."""

from __future__ import annotations

import streamlit as st

from ganboard.app import auth, errors
from ganboard.gan.studies import NAMES, budgets, built_in
from ganboard.worker import formatting
from ganboard.worker.clear_errors import CLEAR_ERRORS
from ganboard.worker.context import Context
from ganboard.worker.studies import study as work

_REFUSED = "study_refused"


def report_refused() -> None:
    """Say why the last launch was refused, once."""
    if refused := st.session_state.pop(_REFUSED, None):
        errors.report(refused)


def show_offered(context: Context) -> None:
    """The built-in studies with their questions."""
    for name in NAMES:
        offered = built_in(name, "tiny")
        with st.container(
            border=True,
            horizontal=True,
            vertical_alignment="center",
            horizontal_alignment="distribute",
        ):
            st.markdown(f"**{offered.title}**  \n{offered.purpose}", width="stretch")
            if st.button("Choose", key=f"study_{name}", **auth.writer()):
                st.session_state["study_name"] = name
                dialog(context)


@st.dialog("Launch a study", icon=":material/science:")
def dialog(context: Context) -> None:
    name = st.selectbox(
        "Study", NAMES, key="study_name", format_func=lambda one: built_in(one, "tiny").title
    )
    choice = budgets(name)
    budget = (
        st.segmented_control(
            "Budget", list(choice), default="paper-small", required=True, key="study_budget"
        )
        or "paper-small"
    )
    asked = built_in(name, budget)
    st.caption(formatting.escape(asked.purpose))
    st.caption(formatting.escape(f"{budget}: {choice[budget].about}."))
    with errors.sentences():
        needed = work.examine(context, asked)
        missing = [one for one in needed if not one.run_id]
        seconds = [one.member.seconds() for one in missing]
        known = [one for one in seconds if one is not None]
        time = (
            f"about {formatting.duration(sum(known))} in sequence"
            if known and len(known) == len(missing)
            else "no time estimate"
        )
        st.markdown(
            f"{formatting.plural(len(needed), 'run')}, {len(missing)} to train: {time}."
            if missing
            else "All of its runs are finished."
        )
        if st.button(
            "Launch",
            type="primary",
            key="study_launch",
            on_click=_start,
            args=(context, name, budget),
        ):
            st.rerun()  # closes the dialog


def _start(context: Context, name: str, budget: str) -> None:
    try:
        stored, _ = work.launch(context, built_in(name, budget))
        st.query_params["study"] = stored.id
    except CLEAR_ERRORS as error:
        st.session_state[_REFUSED] = str(error)
