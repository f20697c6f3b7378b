"""Rules of style for what Streamlit's theme has no word for: the one place that writes markup into a page."""

from __future__ import annotations

import streamlit as st


def apply(rules: str) -> None:
    """Put CSS into the page. `rules` are constants of ours: nothing that a person typed, and no markup."""
    assert "<" not in rules
    st.html(f"<style>{rules}</style>")
