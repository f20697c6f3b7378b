"""The dialog in which a claim is stated: what was typed, its meaning and cost, and the button."""

from __future__ import annotations

import math

import streamlit as st

from ganboard.app import auth, errors
from ganboard.db.claims import records
from ganboard.gan import presets
from ganboard.gan.config import ConfigError
from ganboard.worker import formatting
from ganboard.worker.claims import stating
from ganboard.worker.claims.statement import EXAMPLE, GRAMMAR
from ganboard.worker.claims.stating import Asked
from ganboard.worker.clear_errors import CLEAR_ERRORS
from ganboard.worker.context import Context

REFUSED = "claim_refused"


@st.dialog("State a claim", width="large", icon=":material/gavel:")
def show(context: Context) -> None:
    """Ask for everything and show the plan before anything is stored."""
    sentence = st.text_input(
        "The treatment is …", EXAMPLE, max_chars=300, key="claim_sentence", help=_forms()
    )
    left, right = st.columns(2)
    with left:
        settings = st.text_input(
            "Settings of the treatment",
            "precision=mixed_bfloat16",
            key="claim_settings",
            help="KEY=VALUE, separated by spaces. The control has them too, unless set below.",
        )
        preset = st.selectbox("Preset", presets.NAMES, index=_tiny(), key="claim_preset")
    with right:
        against = st.text_input(
            "Control instead",
            "precision=float32",
            key="claim_against",
            help="What the control has instead, as KEY=VALUE separated by spaces.",
        )
        pairs = st.text_input(
            "Pairs of runs, at most", str(stating.DEFAULT_PAIRS), key="claim_pairs"
        )
    with st.expander("More"):
        hours = st.text_input(
            "Hours after which no pair starts", "", key="claim_hours", placeholder="no limit"
        )
        seed = st.text_input("First seed", "0", key="claim_seed")
        confidence = st.text_input("Confidence of the intervals", "0.95", key="claim_confidence")
        power = st.text_input("Power for planning", "0.8", key="claim_power")
    with errors.sentences():
        asked = Asked(
            sentence,
            against.split(),
            settings.split(),
            preset,
            _whole("Pairs", pairs),
            _number("Hours", hours) if hours.strip() else None,
            _number("Confidence", confidence),
            _number("Power", power),
            _whole("First seed", seed),
        )
        prepared = stating.prepare(context, asked)
        st.markdown(formatting.escape(prepared.claim.statement))
        st.caption(formatting.escape(f"{prepared.cost} {prepared.evaluation}"))
        if st.button(
            "Start",
            type="primary",
            key="claim_start",
            on_click=_start,
            args=(context, asked),
            **auth.writer(),
        ):
            st.rerun()  # closes the dialog


def _start(context: Context, asked: Asked) -> None:
    try:
        stored = records.store(context.engine, stating.prepare(context, asked).claim)
        st.query_params["claim"] = stored.id
    except CLEAR_ERRORS as error:
        st.session_state[REFUSED] = str(error)


def _forms() -> str:
    lines = "\n".join(f"- `{line}`" for line in GRAMMAR)
    return f"One or more of these, joined by “and”:\n\n{lines}"


def _tiny() -> int:
    return list(presets.NAMES).index("tiny")


def _whole(what: str, text: str) -> int:
    if not text.strip().isdecimal() or len(text) > 10:
        raise ConfigError(f"{what}: {text[:20]!r} is not a whole number.")
    return int(text)


def _number(what: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ConfigError(f"{what}: {text[:20]!r} is not a number.")
    return value
