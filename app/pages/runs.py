"""All runs: what trains now, what was trained, and what can be done with it."""

from __future__ import annotations

import streamlit as st

from ganboard.app import navigation
from ganboard.app.run import actions, evaluation
from ganboard.app.run.actions import SELECTED
from ganboard.app.runs import latest, listing, saved_views
from ganboard.app.runs import table as runs_table
from ganboard.app.runs.columns import COLUMNS, SETTINGS, USUAL
from ganboard.app.runs.listing import Choice
from ganboard.app.theme import style
from ganboard.db.errors import BadSearch
from ganboard.db.models import STATUSES
from ganboard.db.runs import queries, search
from ganboard.db.runs.listing import DISTANCES, Listed
from ganboard.gan.settings.features import LABELS
from ganboard.worker import formatting
from ganboard.worker.context import Context

SEARCH_HINT = (
    "Search: a word, `tag:x` · `status:failed` · `batch_size>=128` · `fid<20` · `/regex/` · `-not`"
)
STALE = ".st-key-runs_stale [data-testid=stDataFrame] { opacity: 0.45 }"  # not what was asked for
SEARCH_HELP = """All terms must match; a minus before a term negates it.

| Search | finds runs |
|---|---|
| `paper` | with this text in the name, note or a tag, or at the start of the id |
| `"two words"` | with this exact phrase |
| `tag:baseline` | with this tag |
| `status:failed` | in this state |
| `preset:paper`, `sweep:ID` | launched from a preset, or in a sweep |
| `precision=float32`, `xla=true` | with a setting |
| `batch_size>=128`, `d_steps!=1` | with a setting; also `>`, `<`, `<=` |
| `fid<20`, `epoch>5`, `g_loss=nan` | metrics: epoch, step, seconds, g_loss, d_loss, \
images_per_second, fid (best, by classifier features), fid_encoder, fid_inception, memorization \
(highest) |
| `/^paper.*32$/` | whose name matches a regular expression |
| `-tag:old` | without this tag |
"""


def render() -> None:
    context = navigation.context()
    runs = listing.runs(context)
    with st.container(
        horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"
    ):
        st.title("Runs", anchor=False)
        with st.container(horizontal=True, width="content", vertical_alignment="center"):
            saved_views.show("runs")
            if st.button("Launch a run", type="primary", icon=":material/rocket_launch:"):
                navigation.open_launch()
    outcome = st.container()
    if not runs:
        _nothing_yet()
        actions.report_outcome(outcome)
        st.fragment(_wait_for_first, run_every=3.0)(context)
        return
    active = listing.is_active(runs)
    seconds = 2.0 if active else 5.0
    st.fragment(latest.card, run_every=seconds)(context)
    choice, stale = _choice(runs)
    if stale:
        style.apply(STALE)
    current = {run.id: run.status for run in listing.chosen(context, choice)[0]}
    before = st.session_state.get(SELECTED, [])
    st.session_state[SELECTED] = [run_id for run_id in before if run_id in current]
    actions.bar(context)
    evaluation.waiting(context)
    states = [current[run_id] for run_id in st.session_state[SELECTED]]
    with st.container(key="runs_stale" if stale else "runs_found"):
        st.fragment(_table, run_every=seconds)(context, choice, active, states)
    # last: a part above that draws the page anew would swallow the words
    actions.report_outcome(outcome)


def _choice(runs: list[Listed]) -> tuple[Choice, bool]:
    """The row of filters, and whether the search in them is not the one in force.

    A search that cannot be understood leaves the last good one in force and says what to mend.
    """
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        typed = st.text_input(
            "Search",
            key="q",
            bind="query-params",
            type="search",
            live=True,
            placeholder="Search",
            label_visibility="collapsed",
            width=260,
        )
        chosen = st.pills(
            "Status",
            STATUSES,
            key="status",
            bind="query-params",
            selection_mode="multi",
            format_func=formatting.status_word,
            label_visibility="collapsed",
            width="content",
        )
        archived = st.toggle(
            "Archived", key="archived", bind="query-params", help="Show archived runs instead"
        )
        with st.popover("Columns", icon=":material/view_column:"):
            columns = st.multiselect(
                "Columns",
                tuple(COLUMNS),
                USUAL,
                key="columns",
                bind="query-params",
                help="Any setting can be a column",
            )
            fid = st.number_input(
                "FID to reach",
                min_value=0.0,
                value=None,
                format="%g",
                placeholder="such as 20",
                key="fid",
                bind="query-params",
                help=(
                    "Adds a column with the training seconds until an evaluation first reached"
                    " this distance or less"
                ),
            )
            features = st.selectbox(
                "By features",
                _by_presence(runs),
                key="fid_features",
                bind="query-params",
                format_func=LABELS.__getitem__,
                filter_mode=None,
                help="FIDs by different features cannot be compared",
            )
    wanted = (typed or "").strip()
    good = _understood(wanted)
    return Choice(good, tuple(chosen), archived, tuple(columns), fid, features), good != wanted


def _by_presence(runs: list[Listed]) -> tuple[str, ...]:
    """The kinds of features, first those that any run has an FID by."""
    found = {name for name, field in DISTANCES.items() if any(getattr(run, field) for run in runs)}
    return tuple(sorted(LABELS, key=lambda name: name not in found))


def _understood(typed: str) -> str:
    """The search in force, and below the box the hint or what is wrong."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        try:
            search.parse(typed, SETTINGS)
        except BadSearch as mistake:
            good = st.session_state.get("runs_search", "")
            rows = f"the previous valid search, “{good}”" if good else "no search"
            said = formatting.sentence(f"{mistake} The rows below are those of {rows}.")
            st.markdown(f":small[:red[:material/error: {said}]]", width="content")
        else:
            st.session_state["runs_search"] = typed
            st.caption(SEARCH_HINT, width="content")
        with st.popover("All terms", type="tertiary", help="Search syntax"):
            st.markdown(SEARCH_HELP)
    return str(st.session_state.get("runs_search", ""))


def _table(context: Context, choice: Choice, was_active: bool, states: list[str]) -> None:
    """`states` are those of the selected runs when the buttons for them were drawn."""
    runs = listing.runs(context)
    if listing.is_active(runs) != was_active or not runs:
        st.rerun()  # the interval of both live parts depends on active runs
    chosen, table = listing.chosen(context, choice)
    before = st.session_state.get(SELECTED, [])
    current = {run.id: run.status for run in chosen}
    if [current.get(run_id) for run_id in before] != states:
        st.rerun()  # what can be done with the selected runs has changed
    if not chosen:
        text = "No archived run matches" if choice.archived else "No matching runs"
        st.info(f"{text}: change the search or the states above.", icon=":material/filter_alt_off:")
        return
    displayed = runs_table.with_duration(table, chosen, queries.database_time(context.engine))
    now = runs_table.show(displayed, [run.id for run in chosen], before)
    everything = sum((run.archived_at is not None) == choice.archived for run in runs)
    st.caption(
        f"{formatting.plural(len(chosen), 'run')} of {everything:,}"
        if len(chosen) < everything
        else formatting.plural(everything, "run")
    )
    if now != before:
        st.session_state[SELECTED] = now
        st.rerun()


def _nothing_yet() -> None:
    with st.container(border=True):
        st.subheader("No runs yet", anchor=False)
        st.markdown(
            "A run trains one GAN with one configuration: data, batch size, precision, XLA,"
            " replicas. The **starter** preset takes about a minute on two CPU cores and generates"
            " legible digits."
        )
        if st.button("Set up the first run", icon=":material/arrow_forward:"):
            navigation.open_launch()


def _wait_for_first(context: Context) -> None:
    if queries.count_runs(context.engine, archived=True):
        st.rerun()


render()
