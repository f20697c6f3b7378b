"""The entry script: navigation, and the one place where a foreseen error becomes a sentence on the screen."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from app import auth, errors, run_actions, state
from app.components import alerts, help_icons
from app.theme import style

COMPACT = '[data-testid="stMainBlockContainer"] {padding-top: 4.5rem}'  # charts begin higher on a small screen
ICON = Path(__file__).parent / "theme" / "icon.svg"  # a Material icon would be fetched from another host


def navigate() -> None:
    st.set_page_config(page_title="ganboard", page_icon=ICON, layout="wide")
    with errors.sentences():
        signed_in = auth.gate()
    pages = [
        st.Page(page, title=title, icon=icon, url_path=state.address(page), default=not state.address(page))
        for page, (title, icon) in state.PAGES.items()
    ]
    pages.append(st.Page(state.VIEW_PAGE, title="Saved view", url_path="view", visibility="hidden"))
    if signed_in:
        icon = ":material/account_circle:"
        pages.append(st.Page(auth.account, title="Account", icon=icon, url_path=state.ACCOUNT))
    page = st.navigation(pages, position="top")
    with errors.sentences(retry=True):
        state.context()
        run_actions.leave_deleted()
        style.apply(COMPACT + style.DANGER)
        help_icons.guard()
        alerts.show()
        page.run()


navigate()
