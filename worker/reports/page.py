"""What reports share: one HTML file that needs nothing else, with Plotly's script, the style for
screen and paper, and figures."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import plotly
import plotly.graph_objects as go
from markupsafe import Markup

from ganboard.worker.errors import WorkerError
from ganboard.worker.figures import mode_bar
from ganboard.worker.figures.template import TEMPLATES

PLOTLY_JS = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
STYLE = Path(__file__).with_name("style.css")
CONFIG = {**mode_bar.CONFIG, "responsive": True}


class ReportFailed(WorkerError):
    """The file cannot be written; the message is one sentence."""


def render(template: Path, **values: Any) -> str:
    """HTML of a Jinja template, which gets `script` and `style` too; what people typed is
    escaped."""
    import jinja2  # 2 MB, and the web server rarely writes a report

    page = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined).from_string(
        template.read_text(encoding="utf-8")
    )
    return page.render(
        script=Markup(PLOTLY_JS.read_text(encoding="utf-8")),  # noqa: S704  # ours, from the wheel
        style=Markup(STYLE.read_text(encoding="utf-8")),  # noqa: S704  # ours
        **values,
    )


def figure(made: go.Figure | None, key: str) -> Any:
    """HTML of a figure, interactive and in light colours; empty without one."""
    if made is None:
        return ""
    rendered = go.Figure(made).update_layout(template=TEMPLATES["light"])
    html = rendered.to_html(
        full_html=False, include_plotlyjs=False, div_id=f"figure-{key}", config=CONFIG
    )
    return Markup(html)  # noqa: S704  # Plotly escapes its JSON for a script element


def cell(value: object) -> str:
    """A value of a table as text."""
    if isinstance(value, float):
        return "–" if math.isnan(value) else f"{value:.6g}"
    return str(value)


def write(path: Path, text: str) -> None:
    """Raises ReportFailed."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ReportFailed(
            f"{path} cannot be written ({error.strerror}). Choose another path."
        ) from None
