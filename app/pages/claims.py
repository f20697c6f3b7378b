"""Claims: state one, watch its interval narrow pair by pair, take the evidence away."""

from __future__ import annotations

import streamlit as st

from ganboard.app import auth, errors, navigation
from ganboard.app.claims import actions, form
from ganboard.app.widgets import chooser
from ganboard.app.widgets.live_plotly import live_plotly
from ganboard.db import heartbeats
from ganboard.db.claims import records
from ganboard.db.models import ENDED, StatedClaim
from ganboard.worker import formatting
from ganboard.worker.claims import report, stating, verdict
from ganboard.worker.claims.verdict import Found, Result
from ganboard.worker.context import Context

TICK_SECONDS = 3.0
STYLES = {
    "open": (":material/hourglass_top:", "blue"),
    "supported": (":material/check_circle:", "green"),
    "refuted": (":material/cancel:", "orange"),
    "undecided": (":material/help:", "gray"),
    "invalid": (":material/error:", "red"),
    "stopped": (":material/stop_circle:", "gray"),
}


def render() -> None:
    context = navigation.context()
    with st.container(
        horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"
    ):
        st.title("Claims", anchor=False)
        if st.button("State a claim", type="primary", icon=":material/gavel:", **auth.writer()):
            form.show(context)
    if refused := st.session_state.pop(form.REFUSED, None):
        errors.report(refused)
    if st.session_state.pop(actions.DELETED, False):
        st.toast("Deleted the claim.", icon=":material/check:")
    known = records.listed(context.engine)
    if not known:
        st.info(
            "A claim compares two configurations, such as “at least 1.3x as fast at equal fid"
            " (margin 0.5)”. Pairs of runs with equal seeds are trained until the interval decides"
            " or the budget ends. It can also be stated with `ganboard claim`.",
            icon=":material/gavel:",
        )
        return
    chosen = _choose(known)
    if chosen is None:
        return
    result = verdict.of(chosen)
    _verdict(context, result)
    if chosen.status == records.OPEN:
        _runner(context)
        version = len(chosen.evidence)
        st.fragment(_progress, run_every=TICK_SECONDS)(context, chosen, version)
    for found in result.found:
        _condition(found, chosen)
    st.caption(
        "Shaded: where the condition holds. The intervals hold after every number of pairs at once,"
        " so stopping early is allowed."
    )
    _evidence(result)


def _choose(known: list[StatedClaim]) -> StatedClaim | None:
    return chooser.choose(
        known,
        navigation.claim_param(),
        param="claim",
        label=lambda one: (
            f"{formatting.shorten(one.statement, 70)}, {one.created_at:%Y-%m-%d %H:%M} ({one.id})"
        ),
        missing="There is no claim with this id. It was deleted, or the address is incomplete.",
        width=640,
    )


def _verdict(context: Context, result: Result) -> None:
    """Two lines, with what to mind folded."""
    claim = result.claim
    st.subheader(formatting.escape(stating.title(claim)), anchor=False)
    icon, colour = STYLES[claim.status]
    st.markdown(f":{colour}[{icon} **{formatting.escape(result.headline)}**]")
    st.markdown(formatting.escape(" ".join(found.sentence for found in result.found)))
    with st.expander(f"Caveats ({len(result.caveats)})", icon=":material/info:"):
        for caveat in result.caveats:
            st.markdown(f"- {formatting.escape(caveat)}")
    with st.container(horizontal=True, vertical_alignment="center"):
        st.download_button(
            "Download HTML",
            lambda: report.render(result).encode(),
            file_name=f"claim-{claim.id}.html",
            mime="application/octet-stream",  # HTML is never served but as a page of ours
            icon=":material/download:",
            on_click="ignore",
            help="One file with verdict, charts, data, machine, settings and command.",
        )
        actions.buttons(context, claim)
        st.page_link(
            navigation.RUNS_PAGE,
            label="Its runs",
            icon=":material/list:",
            query_params={"q": f"sweep:{claim.id}"},
        )


def _runner(context: Context) -> None:
    if not any(state.alive for state in heartbeats.claim_runners(context.engine)):
        errors.report(stating.NO_RUNNER, "warning")


def _progress(context: Context, claim: StatedClaim, counted: int) -> None:
    """Redraws the whole page once a pair or the claim has ended, or the claim is deleted."""
    now = records.get(context.engine, claim.id)
    if now is None or now.status != records.OPEN or len(now.evidence) != counted:
        st.rerun()
    runs = records.runs(context.engine, claim.id)
    ended = sum(run is not None and run.status in ENDED for _, run in runs.values())
    st.progress(
        min(1.0, ended / (2 * claim.pairs)), text=f"{ended} of at most {2 * claim.pairs} runs ended"
    )
    for _, run in runs.values():
        if run is not None and run.status not in ENDED:
            st.page_link(
                navigation.RUN_PAGE,
                label=formatting.escape(formatting.shorten(run.name, 80)),
                icon=formatting.STATUS[run.status].icon,
                query_params={"run": run.id},
            )


def _condition(found: Found, claim: StatedClaim) -> None:
    icon, colour = STYLES[found.status]
    st.markdown(
        f"**{formatting.escape(found.condition.text)}** &ensp;"
        f":{colour}-badge[{icon} {found.status}]"
    )
    live_plotly(report.figure(found, claim.pairs), key=f"claim-{claim.id}-{found.condition.key}")


def _evidence(result: Result) -> None:
    if not result.table.empty:
        st.dataframe(result.table, hide_index=True, key="claim-pairs")
    st.markdown("Repeat it:")
    st.code(stating.command(result.claim), language="bash", wrap_lines=True)


render()
