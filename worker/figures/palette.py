"""One palette for Streamlit and Plotly. Run colours are distinguishable with all common kinds of
colour vision, on light and dark grounds."""

from __future__ import annotations

from urllib.parse import quote

# found by search: the eight colours that lie farthest apart, also for people without red, green or
# blue cones (tests/unit/worker/figures/test_palette.py)
CATEGORICAL = (
    "#0a64e1",
    "#e45d0d",
    "#236960",
    "#c80898",
    "#b376ff",
    "#749267",
    "#59a5c5",
    "#8a5008",
)

# blue and orange as of runs, but no run's: they change with the ground
GENERATOR = "#0b64e0"
DISCRIMINATOR = "#e55c0d"
# colours of words beside their curves: 4.5 to 1 or more
WORDS = {GENERATOR: GENERATOR, DISCRIMINATOR: "#b54708"}
# what stands for these colours on the dark ground
DARK = {GENERATOR: "#6ea8fe", WORDS[DISCRIMINATOR]: "#f08a4b"}

SEQUENTIAL = (
    "#eaf1fb", "#d3e2f7", "#b5cef1", "#93b6e9", "#6f9cdf", "#4d83d2", "#356bbb", "#27559a",
    "#1c4078", "#132c55",
)  # fmt: skip


# every eighth run has the same colour: Plotly's dash of its line, the same for SVG, and Plotly's
# pattern of its bars
DASHES = ("solid", "dash", "dot", "dashdot")
# of the curves of one run or group in the same chart
CURVE_DASHES = (*DASHES, "longdash", "longdashdot")
_SVG_DASHES = ("none", "8 4", "3 3", "8 3 3 3")
PATTERNS = ("", "/", ".", "x")


def run_colour(number: int) -> str:
    """The colour of the run with this `Run.number`, on every page and whatever else is shown."""
    return CATEGORICAL[number % len(CATEGORICAL)]


def run_style(number: int) -> int:
    """Index into DASHES and PATTERNS: distinguishes runs of the same colour; repeats after 32
    runs."""
    return number // len(CATEGORICAL) % len(DASHES)


def run_dot(number: int) -> str:
    """A dot in the run's colour, as the address of an SVG picture, for tables."""
    return _address(
        '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20" viewBox="0 0 20 20">'
        f'<circle cx="10" cy="10" r="4" fill="{run_colour(number)}"/></svg>'
    )


def run_swatch(number: int) -> str:
    """A piece of the run's line, as the address of an SVG picture, for tables."""
    style = (
        f'stroke="{run_colour(number)}" stroke-width="3"'
        f' stroke-dasharray="{_SVG_DASHES[run_style(number)]}"'
    )
    line = f'<line x1="8" y1="10" x2="40" y2="10" {style}/>'
    return _address(
        '<svg xmlns="http://www.w3.org/2000/svg" width="48" height="20" viewBox="0 0 48'
        f' 20">{line}</svg>'
    )


def _address(svg: str) -> str:
    return "data:image/svg+xml," + quote(svg)
