"""The common look of all figures, light and dark, and how text and numbers get into them safely."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import plotly.graph_objects as go

from app.theme.palette import CATEGORICAL, DISCRIMINATOR, GENERATOR, SEQUENTIAL

HEIGHT = 400  # pixels
NETS = (("g", "Generator", GENERATOR), ("d", "Discriminator", DISCRIMINATOR))
MISSING = "#d64545"  # marks losses that are not finite
_FONT = "'Source Sans', 'Source Sans Pro', sans-serif"


def _template(*, text: str, muted: str, grid: str, ground: str, density: tuple[str, ...]) -> go.layout.Template:
    axis = {
        "gridcolor": grid,
        "linecolor": grid,
        "zerolinecolor": grid,
        "tickcolor": grid,
        "tickfont": {"color": muted, "size": 12},
        "title": {"font": {"color": muted, "size": 13}, "standoff": 8},
        "automargin": True,
    }
    space = {**axis, "backgroundcolor": "rgba(0,0,0,0)", "showbackground": False, "showspikes": False}
    del space["automargin"]
    space["title"] = {"font": {"color": muted, "size": 12}}
    return go.layout.Template(
        layout={
            "font": {"family": _FONT, "size": 13, "color": text},
            "colorway": list(CATEGORICAL),
            "colorscale": {"sequential": [[i / (len(density) - 1), colour] for i, colour in enumerate(density)]},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "margin": {"l": 56, "r": 16, "t": 36, "b": 44},
            "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "font": {"color": text, "size": 13}},
            "hoverlabel": {"bgcolor": ground, "bordercolor": grid, "font": {"family": _FONT, "size": 13, "color": text}},
            "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": muted, "activecolor": text, "orientation": "h"},
            "xaxis": axis,
            "yaxis": axis,
            "scene": {"xaxis": space, "yaxis": space, "zaxis": space},
            "coloraxis": {"colorbar": {"tickfont": {"color": muted}, "outlinewidth": 0}},
            "annotationdefaults": {"font": {"color": muted, "size": 12}},
        }
    )


TEMPLATES = {
    "light": _template(text="#1b2430", muted="#566273", grid="#e6eaef", ground="#ffffff", density=SEQUENTIAL[2:]),
    "dark": _template(text="#e4e9ef", muted="#9aa7b5", grid="#26303b", ground="#19212b", density=SEQUENTIAL[-2::-1]),
}


def figure(*, height: int = HEIGHT, **layout: Any) -> go.Figure:
    """An empty figure with the common settings; the viewer chooses the template."""
    return go.Figure(layout={"height": height, "template": None, "hovermode": "x unified", "dragmode": "zoom", **layout})


def plain(text: str) -> str:
    """`text` so that Plotly, which reads a small HTML in every label, shows it literally and on one line."""
    return " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def finite(values: Any) -> npt.NDArray[np.float64]:
    """`values` as float64 with NaN, which Plotly draws as a gap, for all that is not finite."""
    array = np.asarray(values, dtype=np.float64)
    return np.where(np.isfinite(array), array, np.nan)


def mark_not_finite(plot: go.Figure, x: Any, *series: Any) -> None:
    """A line and a word at the first x where one of the `series` is not finite."""
    broken = ~np.logical_and.reduce([np.isfinite(np.asarray(values, dtype=np.float64)) for values in series])
    if broken.any():
        first = float(np.asarray(x)[broken.argmax()])
        plot.add_shape(type="line", x0=first, x1=first, y0=0, y1=1, yref="paper", line={"color": MISSING, "width": 1, "dash": "dash"})
        plot.add_annotation(
            x=first, y=1, yref="paper", yanchor="top", xanchor="right", showarrow=False, font={"color": MISSING}, text="NaN or ∞ from here "
        )


def thin(frame: pd.DataFrame, points: int = 1000) -> pd.DataFrame:
    """At most `points` rows: means over equally many neighbouring epochs when there are more. Numeric columns only."""
    numbers = frame.select_dtypes("number")
    size = -(-len(numbers) // points)
    return numbers if size <= 1 else numbers.groupby(np.arange(len(numbers)) // size).mean().reset_index(drop=True)
