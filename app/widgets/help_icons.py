"""The label of a widget shows its help; app/theme/style.py lets the help's button cover it.

A click with the mouse does what it does on any label, a finger only opens the help. Streamlit 1.67
has the button inside the label, which takes any press within it as its own.
"""

from __future__ import annotations

import streamlit as st

# The listener on a switch's label comes after the button, which shows its help, and before React's
# own listener at the root, which would press the switch.
_JS = """
const HELP = ".stTooltipIcon";

function keep(event) {
  if (event.pointerType === "mouse") return;
  const label = event.target.closest?.(`[data-testid=stCheckbox] label ${HELP}`)?.closest("label");
  label?.addEventListener(event.type, (same) => same.stopPropagation(), { once: true });
}

function pass(event) {
  if (event.pointerType !== "mouse") return;
  const label = event.target.closest?.(HELP)?.closest("[data-testid=stWidgetLabel][for]");
  if (label) document.getElementById(label.getAttribute("for"))?.focus();
}

export default function () {
  window.addEventListener("pointerdown", keep, true);
  window.addEventListener("click", pass, true);
  return () => {
    window.removeEventListener("pointerdown", keep, true);
    window.removeEventListener("click", pass, true);
  };
}
"""

_mount = st.components.v2.component("ganboard_help_icons", html="<span></span>", js=_JS)


def install() -> None:
    """Hold for every label of the page that is drawn; called once for each page."""
    _mount(key="help_icons")
