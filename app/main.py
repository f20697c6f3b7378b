"""The entry script: navigation, and the one place where a foreseen error becomes a sentence on the
screen."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from ganboard.app import alerts, auth, errors, navigation, shortcuts
from ganboard.app.run import actions
from ganboard.app.theme import style
from ganboard.app.widgets import help_icons

# charts begin higher on a small screen
COMPACT = '[data-testid="stMainBlockContainer"] {padding-top: 4.5rem}'
# a Material icon would be fetched from another host
ICON = Path(__file__).parent / "theme" / "icon.svg"


def navigate() -> None:
    st.set_page_config(page_title="ganboard", page_icon=ICON, layout="wide")
    with errors.sentences():
        signed_in = auth.gate()
    pages = [
        st.Page(
            page,
            title=title,
            icon=icon,
            url_path=navigation.address(page),
            default=not navigation.address(page),
        )
        for page, (title, icon) in navigation.PAGES.items()
    ]
    pages.append(
        st.Page(navigation.VIEW_PAGE, title="Saved view", url_path="view", visibility="hidden")
    )
    if signed_in:
        icon = ":material/account_circle:"
        pages.append(st.Page(auth.account, title="Account", icon=icon, url_path=navigation.ACCOUNT))
    page = st.navigation(pages, position="top")
    with errors.sentences(retry=True):
        context = navigation.context()
        actions.leave_deleted()
        rules = (COMPACT, style.DANGER, style.HELP, style.CHOSEN, style.FULL_SCREEN, style.TOASTS)
        style.apply("".join(rules))
        help_icons.install()
        shortcuts.handle(context, page.url_path)
        alerts.show()
        page.run()


navigate()
