"""A click on the "?" of a switch explains it and changes nothing.

Streamlit 1.67 puts the "?" inside the switch's label, which takes any press within it as its own.
"""

from __future__ import annotations

import streamlit as st

# The listener on the label comes after the icon, which shows its help, and before React's own
# listener at the root, which would press the switch.
_JS = """
const ICON = "[data-testid=stCheckbox] label [data-testid=stTooltipHoverTarget]";

function keep(event) {
  const label = event.target.closest?.(ICON)?.closest("label");
  label?.addEventListener(event.type, (same) => same.stopPropagation(), { once: true });
}

export default function () {
  window.addEventListener("pointerdown", keep, true);
  return () => window.removeEventListener("pointerdown", keep, true);
}
"""

_mount = st.components.v2.component("ganboard_help_icons", html="<span></span>", js=_JS)


def install() -> None:
    """Hold for every switch and box of the page that is drawn; called once for each page."""
    _mount(key="help_icons")
