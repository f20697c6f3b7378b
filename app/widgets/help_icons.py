"""A label shows its help when a pointer is on it; the keyboard reaches the help's button.

Streamlit 1.67 shows the help of a button with a "?" beside the label, forty of them on one page.
app/theme/style.py lets that button cover the label without the "?", and pointers pass through it,
so that a click on the label does what it does on any label.
"""

from __future__ import annotations

import orjson
import streamlit as st

from ganboard.app.theme import style

# React makes pointerenter and pointerleave of these events
_JS = (
    f"""const LABEL = {orjson.dumps(style.WITH_HELP).decode()};
"""
    + """
let target = null;

function tell(type, event) {
  target?.dispatchEvent(new PointerEvent(type, { bubbles: true, pointerType: event.pointerType }));
}

function follow(event) {
  const label = event.target.closest?.(LABEL);
  const found = label?.querySelector(".stTooltipHoverTarget") ?? null;
  if (found === target) return;
  tell("pointerout", event);
  target = found;
  tell("pointerover", event);
}

export default function () {
  window.addEventListener("pointerover", follow);
  return () => window.removeEventListener("pointerover", follow);
}
"""
)

_mount = st.components.v2.component("ganboard_help_icons", html="<span></span>", js=_JS)


def install() -> None:
    """Hold for every label of the page that is drawn; called once for each page."""
    _mount(key="help_icons")
