"""The form that launches runs: its widgets, their values, and its button."""

from __future__ import annotations

import re
from typing import Any

from streamlit.testing.v1 import AppTest

from ganboard.app.launch import settings_form
from ganboard.db.models import Run
from ganboard.db.runs import queries
from ganboard.gan.presets import load
from ganboard.worker.context import Context
from tests.ui.pages import button, checked

EPOCHS = load("starter").epochs


def set_number(at: AppTest, name: str, value: float | str) -> AppTest:
    setting(at, name).set_value(str(value))
    return checked(at.run())


def launch(context: Context, at: AppTest) -> Run:
    before = {run.id for run in queries.list_runs(context.engine)}
    at = checked(button(at, "Launch").click().run())
    new = [run for run in queries.list_runs(context.engine) if run.id not in before]
    assert len(new) == 1
    assert at.query_params["run"] == new[0].id
    return new[0]


def widgets(at: AppTest) -> dict[str, Any]:
    """The form's widgets by the name of their setting."""
    found = [*at.selectbox, *at.toggle, *at.text_input]
    return {
        match[1]: widget
        for widget in found
        if widget.key and (match := re.fullmatch(r"set_(?:\w+?__)?(\w+)_\d+", widget.key))
    }


def setting(at: AppTest, name: str) -> Any:
    """The widget of a setting."""
    return widgets(at)[name]


def value(at: AppTest, name: str) -> Any:
    """The value of a setting that its widget shows."""
    return settings_form.read(name, setting(at, name).value)
