"""Rules of style for what Streamlit's theme has no word for: the one place that writes markup into
a page."""

from __future__ import annotations

import streamlit as st

CHART = 360  # pixels: the height of most charts, and of what is shown until they come
_NO_SPACE = """
[data-testid="stElementContainer"]:has(> [data-testid="stHtml"] > i[hidden]) { display: none; }
"""
# buttons that destroy something: their keys begin with "delete"
DANGER = """
[class*="st-key-delete"] button:enabled { color: light-dark(#b3261e, #ff8a80); }
[class*="st-key-delete"] button:enabled { border-color: currentColor; }
.st-key-delete_confirmed button:enabled { color: #fff; background: #b3261e; }
"""

# what shows its help itself (app/widgets/help_icons.py): dots below it, instead of an icon, say so;
# the button "Help for ..." covers it for the keyboard and lets pointers through
WITH_HELP = """:is([data-testid="stWidgetLabel"], [data-testid="stMetricLabel"],
  :is([class*="st-key-preset_"], .st-key-run_lines) [data-testid="stMarkdown"])"""
HELP = f"""
{WITH_HELP}:has(.stTooltipIcon) {{ position: relative; width: fit-content; max-width: 100%; }}
{WITH_HELP} :has(> .stTooltipIcon) {{ position: static; margin: 0; }}
{WITH_HELP} .stTooltipIcon {{ position: absolute; inset: 0; pointer-events: none; }}
{WITH_HELP} .stTooltipIcon :is(.stTooltipHoverTarget, button) {{
  width: 100% !important; height: 100%;
}}
{WITH_HELP} .stTooltipIcon svg {{ display: none; }}
:is([data-testid="stWidgetLabel"], [data-testid="stMetricLabel"]):has(.stTooltipIcon) p {{
  text-decoration: underline dotted color-mix(in srgb, currentColor 45%, transparent);
  text-underline-offset: .25em;
}}
"""
# Streamlit darkens the ground of a chosen option below the pointer, until its word cannot be read
CHOSEN = """
[data-variant]:is([aria-checked="true"], [aria-pressed="true"]):hover {
  background: light-dark(#e9f0fa, #111a28) !important;
}
"""
# Streamlit leaves a small image as small as it is in full screen, where it limits its height
FULL_SCREEN = """
[data-testid="stImageContainer"] > img[style*="object-fit"] {
  width: auto !important; height: calc(100dvh - 7rem); max-width: calc(100vw - 2rem);
  image-rendering: pixelated;
}
"""
# Toasts stand in a strip of their own below the page, which is lower by as much. With
# `body:has(...)` the browser would style the page anew for each label that Plotly measures, 0.2 s
# for a chart.
TOASTS = """
body { display: flex; flex-direction: column; height: 100dvh; }
#root { flex: 1; min-height: 0; position: relative; contain: layout; }
[data-testid="stToastContainer"] {
  position: static; height: auto; margin: 0 1rem; overflow: hidden; pointer-events: none;
}
[data-testid="stToastContainer"] > ol { flex-direction: row-reverse; gap: .5rem; width: 100%; }
[data-testid="stToastContainer"] [data-testid="stToast"] {
  margin: .5rem 0; height: 4rem; overflow: auto; pointer-events: auto;
}
"""
# the plan with its button stays beside the form, on a phone the button below it
LAUNCH_PLAN = """
[data-testid="stColumn"]:has(.st-key-launch_plan) {
  position: sticky; top: 4.25rem; align-self: flex-start;
  max-height: calc(100vh - 5rem); overflow-y: auto;
}
@media (max-width: 640px) {
  [data-testid="stColumn"]:has(.st-key-launch_plan) { position: static; max-height: none; }
  .st-key-launch_bar {
    position: fixed; bottom: 0; left: 0; right: 0; z-index: 9999; padding: .6rem 1rem;
    background: light-dark(#ffffff, #10151c);
    border-top: 1px solid light-dark(#dfe4ea, #2b3642);
  }
  [data-testid="stMainBlockContainer"] { padding-bottom: 5rem; }
}
"""


def apply(rules: str) -> None:
    """Put CSS into the page. `rules` are constants of ours: nothing that a person typed, and no
    markup."""
    assert "<" not in rules
    # Streamlit keeps an element of style alone among the toasts, where the next toast replaces it
    st.html(f"<style>{_NO_SPACE}{rules}</style><i hidden></i>")
