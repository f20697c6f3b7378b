"""A Plotly chart that updates without being rebuilt: zoom, hover, camera and legend choices survive
every new point.

`st.plotly_chart` puts a new plot into the page whenever its data change; this component hands the
new figure to `Plotly.react` in the plot that is there. The library comes from this server
(`/vendor/plotly.min.js`), the look follows the light or dark theme.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson
import plotly.graph_objects as go
import streamlit as st

from ganboard.db.ids import is_id
from ganboard.worker.figures import mode_bar, palette
from ganboard.worker.figures.many.sketch import sketch
from ganboard.worker.figures.template import TEMPLATES

# a chart's shape until it is drawn: the library and the data arrive later
_HTML = """<div class='live-plotly'>
<svg class='live-plotly-waiting' viewBox='0 0 100 100' preserveAspectRatio='none' aria-hidden='true'
><path d='M6 12H98M6 37H98M6 62H98M6 87H98' /><path d='M6 22C16 70 26 58 40 68S70 78 98 80' />
</svg></div>"""
_CSS = """
.live-plotly {
  position: relative; width: 100%; overflow: hidden;
  font-size: 0.875rem; color: var(--st-gray-text-color);
}
/* Streamlit makes what has a height scroll, and a chart that is a pixel too high while it is drawn
   needs no scrollbar, nor is there anything in it that a keyboard could reach */
.stElementContainer:has(> * .live-plotly) { overflow: hidden; }
.live-plotly-waiting {
  display: block; width: 100%; height: 100%; fill: none; stroke: var(--st-border-color);
  stroke-width: 2; animation: live-plotly-waiting 1.6s ease-in-out infinite alternate;
}
.live-plotly-waiting path { vector-effect: non-scaling-stroke; }
@keyframes live-plotly-waiting { from { opacity: 0.35; } to { opacity: 1; } }
@media (prefers-reduced-motion: reduce) { .live-plotly-waiting { animation: none; } }
.live-plotly-picture {
  position: absolute; top: 44px; right: 24px; width: 140px; pointer-events: none;
  image-rendering: pixelated; border: 1px solid var(--st-border-color); border-radius: 4px;
}
"""
_EYES_CSS = """
.live-plotly-eyes {
  display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 12rem), 1fr));
  gap: 0 0.75rem; max-height: 13rem; overflow-y: auto; margin: 0; padding: 0; list-style: none;
  color: var(--st-text-color); font: 0.875rem var(--st-font);
}
.live-plotly-eyes li { display: flex; align-items: center; gap: 0.4rem; min-width: 0; }
.live-plotly-eyes span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.live-plotly-eyes i { flex: none; width: 0.6rem; height: 0.6rem; border-radius: 50%; }
.live-plotly-eyes button {
  flex: none; width: 2rem; height: 2rem; padding: 0.35rem; color: inherit; background: none;
  border: none; border-radius: var(--st-base-radius); cursor: pointer;
}
.live-plotly-eyes button:hover { background: var(--st-secondary-background-color); }
.live-plotly-eyes button:focus-visible { outline: 2px solid var(--st-primary-color); }
.live-plotly-eyes .hidden :is(i, span, svg) { opacity: 0.45; }
.live-plotly-eyes svg {
  display: block; fill: none; stroke: currentColor; stroke-width: 1.6; stroke-linecap: round;
}
"""
_TEMPLATES = orjson.dumps(
    {name: template.to_plotly_json() for name, template in TEMPLATES.items()},
    option=orjson.OPT_SERIALIZE_NUMPY,
)
_CONSTANTS = f"""const TEMPLATES = {_TEMPLATES.decode()};
const DARK = {orjson.dumps(palette.DARK).decode()};
const CONFIG = {orjson.dumps(mode_bar.CONFIG).decode()};
"""
_JS = _CONSTANTS + Path(__file__).with_name("live_plotly.js").read_text()

_mount = st.components.v2.component(
    "ganboard_live_plotly", html=_HTML, css=_CSS + _EYES_CSS, js=_JS, isolate_styles=False
)


@dataclass(frozen=True)
class Eye:
    """A curve that can be hidden by the eye before its name."""

    curve: str  # the legend group of its traces, or the uid of the only one
    name: str
    colour: str


@dataclass(frozen=True)
class Chart:
    """A figure as the browser gets it; `key` names the run and the chart and never depends on the
    data."""

    key: str
    encoded: bytes
    height: int

    @classmethod
    def of(cls, figure: go.Figure, key: str) -> Chart:
        """`figure`, whose layout has a height. Equal keys are the same plot: what a person zoomed
        or hid stays as long as the key does."""
        figure.layout.uirevision = key
        # to_json writes what is not finite as null, which JSON.parse accepts and Plotly draws as a
        # gap
        encoded = figure.to_json(validate=False, remove_uids=False, engine="orjson").encode()
        if first := sketch(figure):
            encoded = _in_front("sketch", first, encoded)
        return cls(key, encoded, int(figure.layout.height))

    def show(self) -> None:
        _mount(key=self.key, data=self.encoded, height=self.height)

    def show_eyes(self, eyes: Sequence[Eye]) -> None:
        """Show it above a list of curves that can be hidden; which are is the browser's, and lasts
        as long as the key."""
        data = _in_front("eyes", [asdict(eye) for eye in eyes], self.encoded)
        _mount(key=self.key, data=data, height="content")

    def show_runs(self) -> tuple[str, int] | None:
        """Show a figure whose dots are evaluations of runs (see live_plotly.js); returns run and
        epoch of the one that was clicked just now."""
        picked = _mount(
            key=self.key, data=self.encoded, height=self.height, on_picked_change=lambda: None
        ).picked
        match picked:  # whatever a browser sends
            case [str(run_id), int(epoch)] if is_id(run_id) and 0 <= epoch < 2**31:
                return run_id, epoch
        return None


def _in_front(name: str, value: Any, encoded: bytes) -> bytes:
    """The figure, which is encoded already, with one more member."""
    added = orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)
    return f'{{"{name}":'.encode() + added + b"," + encoded.removeprefix(b"{")


def live_plotly(figure: go.Figure, *, key: str) -> None:
    """Show `figure` as `Chart.of` takes it."""
    Chart.of(figure, key).show()
