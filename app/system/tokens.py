"""Tokens for the REST API: those of the person at this page, or all while nobody signs in."""

from __future__ import annotations

import streamlit as st

from ganboard.app import auth, errors
from ganboard.db.access import tokens
from ganboard.db.models import ApiToken
from ganboard.db.runs import queries
from ganboard.worker import formatting
from ganboard.worker.api.contract import PATH
from ganboard.worker.api.granting import grant, revoke
from ganboard.worker.context import Context, account

SCOPES = {"read": "Read", "write": "Read, launch, change and delete"}
LIFETIMES = {30: "30 days", 90: "90 days", 366: "366 days"}
ABOUT = (
    f"For programs and assistants that use the REST API, which {PATH}/openapi.json describes."
    " A token can do no more than its owner."
)


def show(context: Context) -> None:
    """The section; its dialog must not belong to what is drawn every few seconds."""
    st.header("API tokens", anchor=False)
    signed_in = context.user or None
    if st.button("New token", icon=":material/key:", key="new_token"):
        new(context, signed_in)
    found = tokens.listed(context.engine, owner=signed_in)
    for token in found:
        _row(context, token, signed_in)
    if not found:
        st.caption(ABOUT)


@st.dialog("New token", icon=":material/key:", on_dismiss="rerun")
def new(context: Context, signed_in: str | None) -> None:
    """Make a token and show it once."""
    viewer = auth.read_only() is not None
    with st.form("token_form", border=False):
        name = st.text_input(
            "Name", placeholder="nightly sweep", max_chars=tokens.NAME_LENGTH, key="token_name"
        )
        scope = st.selectbox(
            "Scope",
            ["read"] if viewer else list(SCOPES),
            format_func=SCOPES.__getitem__,
            help="Tokens of viewers can only read." if viewer else None,
        )
        days = st.selectbox("Valid for", [*LIFETIMES], index=1, format_func=LIFETIMES.__getitem__)
        asked = st.form_submit_button("Create", type="primary")
    if asked:
        with errors.sentences():
            owner = signed_in or account()
            _, text = grant(context, name=name, owner=owner, scope=scope, days=days)
            st.success("Copy the token now: it is not stored, and not shown again.")
            st.code(text, language=None, wrap_lines=True)


def _row(context: Context, token: ApiToken, signed_in: str | None) -> None:
    now = queries.database_time(context.engine)
    used = "never used"
    if token.used_at is not None:
        used = f"used {formatting.ago((now - token.used_at).total_seconds())}"
    left = formatting.duration((token.expires_at - now).total_seconds())
    whose = "" if signed_in or not token.owner else f" of {formatting.escape(token.owner)}"
    with st.container(
        horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", gap="small"
    ):
        st.markdown(
            f"**{formatting.escape(token.name)}**{whose}: {token.scope}, expires in {left}, {used}",
            width="content",
        )
        if st.button(
            "Revoke",
            icon=":material/key_off:",
            key=f"revoke_{token.id}",
            type="tertiary",
            help="Revoke this token immediately.",
        ):
            with errors.sentences():
                who = signed_in or account()
                revoke(context, token_id=token.id, who=who, owner=signed_in)
                st.rerun()
