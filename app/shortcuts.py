"""What can be done with the keyboard on every page: go to pages and runs, and the keys of the list
of runs."""

from __future__ import annotations

import streamlit as st

from ganboard.app import navigation
from ganboard.app.runs import keys
from ganboard.app.widgets.keyboard import Command, Keyboard
from ganboard.db.runs import listing, queries
from ganboard.worker import formatting
from ganboard.worker.context import Context

OFFERED = 300  # newest runs in the palette
LETTERS = {  # after a "g"
    "r": navigation.RUNS_PAGE,
    "l": navigation.LAUNCH_PAGE,
    "c": navigation.COMPARE_PAGE,
    "s": navigation.STUDIES_PAGE,
    "e": navigation.CLAIMS_PAGE,  # for evidence
    "m": navigation.MODELS_PAGE,
    "p": navigation.PLAYGROUND_PAGE,
    "y": navigation.SYSTEM_PAGE,
}
TITLES = {page: title for page, (title, _) in navigation.PAGES.items()}
_keyboard = Keyboard(
    {letter: TITLES[page] for letter, page in LETTERS.items()},
    {key: f"Runs: {meaning[:1].lower()}{meaning[1:]}" for key, meaning in keys.MEANINGS.items()},
)
PRESSED = "shortcut_pressed"  # a key of the page, until the page takes it


def handle(context: Context, page: str) -> None:
    """Listen on the `page` that is drawn (its address), and go where somebody asked to."""
    newest = queries.newest_run_id(context.engine)
    commands = _pages() + _runs(context, str(context.engine.url), newest)
    own = tuple(keys.MEANINGS) if page == navigation.address(navigation.RUNS_PAGE) else ()
    chosen = _keyboard.pressed(commands, LETTERS, own)
    if chosen is None:
        return
    kind, _, rest = chosen.partition(":")
    if kind == "run":
        navigation.open_run(rest)
    if kind == "key":
        st.session_state[PRESSED] = rest
    if chosen in navigation.PAGES:
        st.switch_page(chosen, query_params={})


def taken() -> str | None:
    """The key of the page that was pressed just now; the page does what it means."""
    pressed: str | None = st.session_state.pop(PRESSED, None)
    return pressed


def _pages() -> list[Command]:
    letters = {page: letter for letter, page in LETTERS.items()}
    return [
        Command(page, title, f"g {letters[page]}" if page in letters else "page")
        for page, title in TITLES.items()
    ]


@st.cache_data(ttl=30, max_entries=4, show_spinner=False)
def _runs(_context: Context, database: str, newest: str | None) -> list[Command]:
    """The newest runs; read again when there is another one, and names after half a minute."""
    return [
        Command(f"run:{run_id}", formatting.shorten(name, 60), run_id)
        for run_id, name in listing.names(_context.engine, limit=OFFERED)
    ]
