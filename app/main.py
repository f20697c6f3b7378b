"""The entry script: navigation, and the one place where a foreseen error becomes a sentence on the screen."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from app import auth, errors, run_actions, state
from app.components import alerts
from app.theme import style

COMPACT = '[data-testid="stMainBlockContainer"] {padding-top: 4.5rem}'  # charts begin higher on a small screen
ICON = Path(__file__).parent / "theme" / "icon.svg"  # a Material icon would be fetched from another host


def navigate() -> None:
    st.set_page_config(page_title="ganboard", page_icon=ICON, layout="wide")
    with errors.sentences():
        signed_in = auth.gate()
    account = [st.Page(auth.account, title="Account", icon=":material/account_circle:", url_path="account")] if signed_in else []
    page = st.navigation(
        [
            st.Page(state.RUNS_PAGE, title="Runs", icon=":material/list:", url_path="runs", default=True),
            st.Page(state.LAUNCH_PAGE, title="Launch", icon=":material/rocket_launch:", url_path="launch"),
            st.Page(state.RUN_PAGE, title="Run", icon=":material/show_chart:", url_path="run"),
            st.Page(state.COMPARE_PAGE, title="Compare", icon=":material/compare_arrows:", url_path="compare"),
            st.Page(state.STUDIES_PAGE, title="Studies", icon=":material/science:", url_path="studies"),
            st.Page(state.MODELS_PAGE, title="Models", icon=":material/deployed_code:", url_path="models"),
            st.Page(state.PLAYGROUND_PAGE, title="Playground", icon=":material/palette:", url_path="playground"),
            st.Page(state.SYSTEM_PAGE, title="System", icon=":material/memory:", url_path="system"),
            st.Page(state.VIEW_PAGE, title="Saved view", url_path="view", visibility="hidden"),
            *account,
        ],
        position="top",
    )
    with errors.sentences(retry=True):
        state.context()
        run_actions.leave_deleted()
        style.apply(COMPACT)
        alerts.show()
        page.run()


navigate()
