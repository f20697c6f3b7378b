"""Plotly checks figures by the packed table as it does by its own."""

from __future__ import annotations

import plotly.graph_objects as go
import pytest
from plotly.validator_cache import ValidatorCache

from ganboard.app.web.plotly_properties import Packed, pack


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process that has not made a figure yet."""
    monkeypatch.setattr(ValidatorCache, "_json_cache", None)
    monkeypatch.setattr(ValidatorCache, "_cache", {})


def figure() -> go.Figure:
    made = go.Figure([go.Scatter(y=[1, 2], mode="lines"), go.Heatmap(z=[[0, 1]])])
    return made.update_layout(xaxis2={"title": "Seconds"}, yaxis_type="log")


def test_the_same_figures_are_accepted() -> None:
    expected = figure().to_json()
    ValidatorCache._cache.clear()
    pack()
    assert figure().to_json() == expected


def test_the_same_mistakes_are_refused() -> None:
    with pytest.raises(ValueError, match="mode") as before:
        go.Scatter(mode="none of them")
    ValidatorCache._cache.clear()
    pack()
    with pytest.raises(ValueError, match="mode") as after:
        go.Scatter(mode="none of them")
    assert str(after.value) == str(before.value)


def test_what_was_looked_up_is_not_kept() -> None:
    pack()
    figure()
    table = ValidatorCache._json_cache
    assert isinstance(table, Packed)
    assert len(table) > 5000
    assert all(isinstance(item, str) for item in table.values())
    assert table.get("scatter.no_such_property") is None
