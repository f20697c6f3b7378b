"""Addresses and forged widgets: every path, query and value gets an answer in words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from hypothesis import strategies as st

from ganboard.app import navigation
from ganboard.app.web import api
from ganboard.db.models import Run
from ganboard.db.runs import queries
from ganboard.worker.context import Context
from tests.fuzz.cases import fuzzed
from tests.ui.pages import checked, open_page
from tests.unit.app.web.answers import get

MakeRun = Callable[..., Run]
WILD = (
    "", " ", "latest", "LATEST", "..", "../..", "%2e%2e", "%00", "\0", "\ud800", "a" * 10_000, "1",
    "-1", "0", "00", "\u0661", "\uff11", "1e3", "nan", "inf", "true", "None", "9" * 400,
    "2147483648", "-999999999", "[]", "{}", "<script>", "' OR 1=1 --", "%", "_", "*", "a,b", ",",
    "&", "#", "?", ";", "run.json", "epochs.csv", "export.zip", "model", "losses.csv", "real",
    "1.png", "\u202e", "e\u0301", "/", "\\", "\n", "C:\\",
)  # fmt: skip
PART = (
    st.sampled_from(WILD)
    | st.text(max_size=12)
    | st.sampled_from(["runs", "RUN", "grids", "epochs.csv", "steps.csv"])
)
KEYS = (
    "run", "runs", "sweep", "study", "clone", "step", "view", "part", "base", "by", "q", "status",
    "archived", "list", "preview", "columns", "fid", "fid_features", "follow",
    "name", "preset", "seed", "psi", "picked", "limit",
    "search", "scale", "height", "attempt", "epoch", "smoothing", "all", "x", "set_epochs_0",
    "data", "evaluated", "metric", "cost", "goal", "colour", "courses", "dot", "group", "diff",
    "set", "pair", "left", "right", "left_epoch", "right_epoch",
)  # fmt: skip
PAGES = [Path(page).stem for page in (*navigation.PAGES, navigation.VIEW_PAGE)]
QUERY = st.dictionaries(st.sampled_from(KEYS), st.lists(PART, min_size=1, max_size=3), max_size=4)


def known_run(context: Context, make_run: MakeRun) -> str:
    found = queries.list_runs(context.engine, limit=1)
    return (found[0] if found else make_run("<b>hostile</b>", epochs=2, quality_every=1)).id


def encoded(parts: list[str]) -> str:
    return "/".join(quote(part.encode(errors="surrogatepass"), safe="") for part in parts)


@fuzzed(
    8,
    parts=st.lists(PART, max_size=4),
    query=QUERY,
    known=st.booleans(),
    method=st.sampled_from(["GET", "GET", "GET", "HEAD", "POST"]),
)
def test_every_address_of_the_api_answers(
    context: Context,
    make_run: MakeRun,
    parts: list[str],
    query: dict[str, list[str]],
    known: bool,
    method: str,
) -> None:
    run_id = known_run(context, make_run)
    parts = [run_id if part == "RUN" else part for part in parts]
    start = ["api", "runs", run_id] if known else ["api"]
    pairs = "&".join(
        f"{key}={encoded([value])}" for key, values in query.items() for value in values
    )
    answer = get(f"/{encoded([*start, *parts])}?{pairs}", method)
    assert answer.status in (200, 307, 400, 404, 405, 503), answer.body
    if answer.headers.get("content-type") == "application/json" and method == "GET":
        body = answer.json
        if answer.status != 200:
            assert set(body) == {"error"}
            assert body["error"].endswith(".")
            assert len(body["error"]) < 400
    assert b"Traceback" not in answer.body
    assert b"<script>" not in answer.body or answer.headers["content-type"] != "text/html"


@fuzzed(4, table=st.sampled_from([*api.TABLES, "grids/1.png", "export.zip", "model"]), query=QUERY)
def test_files_of_a_run_are_sent(
    context: Context, make_run: MakeRun, table: str, query: dict[str, list[str]]
) -> None:
    pairs = "&".join(
        f"{key}={encoded([value])}" for key, values in query.items() for value in values
    )
    answer = get(f"/api/runs/{known_run(context, make_run)}/{table}?{pairs}")
    assert answer.status in (200, 400, 404)
    assert answer.headers.get("x-content-type-options") == "nosniff" or answer.status != 200


@fuzzed(0.4, page=st.sampled_from(PAGES), query=QUERY, known=st.booleans())
def test_every_page_opens_at_any_address(
    context: Context, make_run: MakeRun, page: str, query: dict[str, list[str]], known: bool
) -> None:
    run_id = known_run(context, make_run)
    # as a server decodes
    forged = {
        key: [value.encode(errors="replace").decode() for value in values]
        for key, values in query.items()
    }
    if known:
        forged |= {
            "run": [run_id],
            "runs": [run_id, *forged.get("runs", [])],
            "clone": forged.get("clone", [run_id]),
        }
    open_page(
        page, **{key: values if len(values) > 1 else values[0] for key, values in forged.items()}
    )


FORGED = st.sampled_from(
    [
        None,
        "",
        "x",
        "<script>",
        -1,
        0,
        2**63,
        1e308,
        float("nan"),
        True,
        [],
        ["x"],
        "\u202e",
        "x" * 10_000,
    ]
)


@fuzzed(
    0.3,
    page=st.sampled_from(["runs", "run", "compare", "frontier", "launch", "playground", "studies"]),
    place=st.integers(0, 40),
    value=FORGED,
)
def test_a_forged_widget_breaks_no_page(
    context: Context, make_run: MakeRun, page: str, place: int, value: Any
) -> None:
    run_id, other = known_run(context, make_run), make_run(epochs=1)
    query = {
        "run": {"run": run_id},
        "compare": {"runs": f"{run_id},{other.id}"},
        "launch": {"clone": run_id},
    }.get(page, {})
    at = open_page(page, **query)
    widgets = [
        *at.text_input,
        *at.number_input,
        *at.selectbox,
        *at.multiselect,
        *at.toggle,
        *at.slider,
        *at.text_area,
        *at.checkbox,
    ]
    if not widgets:
        return
    widget = widgets[place % len(widgets)]
    try:
        widget.set_value(value)
        # what the harness itself cannot encode, a browser could not send
        widget._widget_state  # noqa: B018
    except Exception:
        return
    checked(at.run())
