"""Rules of style for what Streamlit's theme has no word for: the one place that writes markup into
a page."""

from __future__ import annotations

import streamlit as st

# buttons that destroy something: their keys begin with "delete"
DANGER = """
[class*="st-key-delete"] button:enabled { color: light-dark(#b3261e, #ff8a80); }
[class*="st-key-delete"] button:enabled { border-color: currentColor; }
.st-key-delete_confirmed button:enabled { color: #fff; background: #b3261e; }
"""


def apply(rules: str) -> None:
    """Put CSS into the page. `rules` are constants of ours: nothing that a person typed, and no
    markup."""
    assert "<" not in rules
    st.html(f"<style>{rules}</style>")
