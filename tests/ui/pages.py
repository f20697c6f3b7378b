"""Opening a page of the real application in Streamlit's test harness."""

from __future__ import annotations

from pathlib import Path

from streamlit.testing.v1 import AppTest

from ganboard.app.runs import table

MAIN = Path(__file__).parents[2] / "app" / "main.py"


def open_page(page: str = "runs", **query: str | list[str]) -> AppTest:
    """Run a page of app/main.py with these URL parameters; fails on any uncaught exception."""
    at = AppTest.from_file(MAIN, default_timeout=30)
    if page != "runs":
        at.switch_page(f"pages/{page}.py")
    for name, value in query.items():
        at.query_params[name] = value
    at.run()
    return checked(at)


def checked(at: AppTest) -> AppTest:
    """The same, unless the page failed."""
    assert not at.exception, (
        at.exception[0].message + "\n" + "\n".join(at.exception[0].stack_trace or [])
    )
    return at


def words(at: AppTest) -> str:
    """All text of a page, Markdown escapes removed."""
    elements = [
        *at.title,
        *at.subheader,
        *at.markdown,
        *at.text,
        *at.caption,
        *at.warning,
        *at.info,
        *at.success,
        *at.error,
    ]
    joined = "\n".join(element.value for element in elements)
    return joined.replace("\\", "").replace("\u2060", "")


def button(at: AppTest, label: str):  # type: ignore[no-untyped-def]
    """The first button with this label."""
    return next(button for button in at.button if button.label == label)


def table_ids(at: AppTest) -> list[str]:
    """Ids in the table of runs, top to bottom."""
    return next(frame.value["Id"].tolist() for frame in at.dataframe if "Id" in frame.value)


def focus_cell(at: AppTest, run_id: str, column: str = "Status") -> AppTest:
    """Click this run's cell in the table."""
    shown = table_ids(at)
    cells = [(shown.index(run_id), column)]
    at.session_state[table.key(shown)] = {"selection": {"rows": [], "columns": [], "cells": cells}}
    return checked(at.run())


def select_runs(at: AppTest, run_ids: list[str]) -> AppTest:
    """Tick these runs in the table."""
    shown = table_ids(at)
    rows = [shown.index(run_id) for run_id in run_ids]
    at.session_state[table.key(shown)] = {"selection": {"rows": rows, "columns": [], "cells": []}}
    return checked(at.run())
