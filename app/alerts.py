"""Notifications on every page: recent warnings, errors and ended runs, with a count of those not
looked at, and a word when a run ends."""

from __future__ import annotations

import streamlit as st
from sqlalchemy.exc import DBAPIError

from ganboard.app import navigation
from ganboard.app.theme import style
from ganboard.app.widgets import browser_notifications
from ganboard.db.runs import notifications, queries
from ganboard.db.runs.notifications import Notice
from ganboard.worker import formatting
from ganboard.worker.clear_errors import CLEAR_ERRORS
from ganboard.worker.context import Context

SECONDS = 5.0  # between reads
LISTED = 30
# ids of the newest events that were read and announced
SEEN, LAST_SEEN = "alerts_seen", "alerts_last_seen"
ASKED = "alerts_asked"
ICONS = {"warning": ":material/warning:", "error": ":material/error:", "info": ":material/check:"}
# in the header, beside the menu: no page gives up height for it
STYLE = """
[data-testid="stLayoutWrapper"]:has(> .st-key-alerts) {
  position: fixed; top: .55rem; right: 3.25rem; width: auto; z-index: 999991;
}
.st-key-browser_notifications { display: none; }
"""


def show() -> None:
    """Draw the notifications, and poll every few seconds while the page is open."""
    style.apply(STYLE)
    st.fragment(_button, run_every=SECONDS, key="alerts_refresh")()
    if st.session_state.pop(ASKED, False):
        _list(navigation.context())


def _button() -> None:
    with st.container(key="alerts", width="content"):
        try:
            context = navigation.context()
            newest = notifications.newest_event(context.engine)
            found = _notices(context, str(context.engine.url), newest)
        except (*CLEAR_ERRORS, DBAPIError):  # every page says so itself, at length
            st.button(
                ":material/notifications_off:",
                type="tertiary",
                disabled=True,
                help="The database is unavailable",
            )
            return
        browser_notifications.announce(found, newest)
        _announce(found, st.session_state.get(LAST_SEEN, newest))
        st.session_state[LAST_SEEN] = newest
        seen = st.session_state.setdefault(SEEN, newest)
        fresh = sum(notice.id > seen for notice in found)
        many = f" :red-badge[{fresh}{'+' * (fresh == LISTED)}]" if fresh else ""
        said = f"Warnings, errors and ended runs since your last visit: {fresh or 'none'}"
        if st.button(
            f":material/notifications:{many}", type="tertiary", key="alerts_button", help=said
        ):
            st.session_state[SEEN], st.session_state[ASKED] = newest, True
            st.rerun()  # the dialog must not belong to a part that is drawn anew every few seconds


def _announce(found: list[Notice], already_seen: int) -> None:
    for notice in reversed(found):
        if notice.id > already_seen and (notice.finished or notice.level == "error"):
            name = formatting.escape(formatting.shorten(notice.name, 60))
            if notice.finished:
                st.toast(f"**{name}** has finished.", icon=":material/check:")
            else:
                st.toast(
                    f"**{name}** reports an error:"
                    f" {formatting.sentence(formatting.shorten(notice.text, 120))}",
                    icon=":material/error:",
                )


@st.dialog("Notices", icon=":material/notifications:")
def _list(context: Context) -> None:
    with st.container(gap="small"):
        browser_notifications.switch()
        st.page_link(
            navigation.SYSTEM_PAGE,
            label="Alerts to Slack, Teams, Discord, a webhook or by mail",
            icon=":material/campaign:",
        )
    found = _notices(context, str(context.engine.url), notifications.newest_event(context.engine))
    if not found:
        st.caption("No run has ended or reported a warning yet.")
        return
    present = queries.database_time(context.engine)
    for notice in found:
        icon = ICONS.get(notice.level, ICONS["info"])
        name = formatting.escape(formatting.shorten(notice.name, 40))
        st.page_link(
            navigation.RUN_PAGE, label=f"**{name}**", icon=icon, query_params={"run": notice.run_id}
        )
        age = formatting.ago((present - notice.at).total_seconds())
        st.caption(
            f"{formatting.sentence(formatting.shorten(notice.text, 200))}"
            f" {age[:1].upper()}{age[1:]}."
        )


@st.cache_resource(max_entries=2, show_spinner=False)
def _notices(_context: Context, database: str, newest: int) -> list[Notice]:
    """Read once for all who look, until something happens."""
    return notifications.notices(_context.engine, limit=LISTED)
