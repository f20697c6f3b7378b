"""Stop a claim, or delete one that has ended."""

from __future__ import annotations

import streamlit as st

from ganboard.app import auth
from ganboard.app.claims import form
from ganboard.db.claims import records
from ganboard.db.models import StatedClaim
from ganboard.worker import formatting
from ganboard.worker.claims import stopping
from ganboard.worker.clear_errors import CLEAR_ERRORS
from ganboard.worker.context import Context

DELETED = "claim_deleted"  # whether the next drawing of the page has to say so


def buttons(context: Context, claim: StatedClaim) -> None:
    """What can be done with a claim in its state."""
    if claim.status == records.OPEN:
        st.button(
            "Stop",
            icon=":material/stop:",
            on_click=_stop,
            args=(context, claim),
            **auth.writer("End it without a verdict and stop its runs."),
        )
    elif st.button(
        "Delete",
        key="delete_claim",
        icon=":material/delete:",
        **auth.writer("Delete the claim and its evidence; its runs stay."),
    ):
        confirm(context, claim)


@st.dialog("Delete claim?", icon=":material/delete:")
def confirm(context: Context, claim: StatedClaim) -> None:
    """Ask before the evidence goes."""
    st.markdown(
        f"**{formatting.escape(claim.statement)}** will be deleted with its evidence, of"
        f" {formatting.plural(len(claim.evidence), 'pair')}. Its runs stay. This cannot be undone."
    )
    if st.button(
        "Delete claim",
        type="primary",
        key="delete_confirmed",
        on_click=_delete,
        args=(context, claim),
        **auth.writer(),
    ):
        st.rerun()  # closes the dialog


def _delete(context: Context, claim: StatedClaim) -> None:
    try:
        records.remove(context.engine, claim.id)
    except CLEAR_ERRORS as error:
        st.session_state[form.REFUSED] = str(error)
        return
    st.query_params.pop("claim", None)
    st.session_state[DELETED] = True


def _stop(context: Context, claim: StatedClaim) -> None:
    try:
        stopping.stop(context, claim)
    except CLEAR_ERRORS as error:
        st.session_state[form.REFUSED] = str(error)
