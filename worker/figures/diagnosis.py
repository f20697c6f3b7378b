"""Findings of `gan.diagnosis` marked on curves over the epochs of a run."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from ganboard.gan.diagnosis.trace import Finding, Kind
from ganboard.worker.figures.template import MISSING, plain

SEVERE, NOTABLE, MINOR = MISSING, "#d98200", "#8a94a3"
COLOURS: dict[Kind, str] = {
    "not_finite": SEVERE,
    "collapse": SEVERE,
    "discriminator": SEVERE,
    "overflow": NOTABLE,
    "declined": NOTABLE,
    "plateau": NOTABLE,
    "spikes": NOTABLE,
    "straggler": MINOR,
    "slow_epochs": MINOR,
    "restarts": MINOR,
}
NARROWEST = 0.5  # epochs: a single step must be visible


def mark(plot: go.Figure, findings: Sequence[Finding]) -> go.Figure:
    """`plot`, whose x axis counts epochs, with a band for each finding: numbered from 1 in the
    given order, its title and evidence on hover."""
    for number, finding in enumerate(findings, 1):
        colour = COLOURS[finding.kind]
        low, high = finding.first, max(finding.last, finding.first + NARROWEST)
        plot.add_shape(
            type="rect",
            x0=low,
            x1=high,
            y0=0,
            y1=1,
            yref="paper",
            layer="below",
            fillcolor=colour,
            opacity=0.16,
            line={"width": 0},
        )
        # numbers of findings that share a place stand one below the other
        plot.add_annotation(
            x=low,
            y=1 - 0.09 * ((number - 1) % 10),
            yref="paper",
            xanchor="left",
            yanchor="top",
            showarrow=False,
            text=f"<b>{number}</b>",
            font={"color": "#ffffff", "size": 12},
            bgcolor=colour,
            borderpad=3,
            hovertext=plain(f"{finding.title}, {finding.span}: {finding.evidence}"[:300]),
        )
    return plot
