"""Configurations as JSON: from files, from older and newer versions, and as they may stand in the
database."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from hypothesis import strategies as st
from sqlalchemy import update
from sqlmodel import Session, col

from ganboard.db.models import Run
from ganboard.gan.config import ConfigError, parse
from ganboard.gan.models.dcgan.config import Config
from ganboard.worker import removal
from ganboard.worker.clear_errors import CLEAR_ERRORS
from ganboard.worker.context import Context
from ganboard.worker.submission import submit
from tests.cli import document, ganboard
from tests.fuzz.cases import fuzzed, refusal
from tests.ui.pages import open_page

MakeRun = Callable[..., Run]
USUAL = Config().model_dump(mode="json")
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=8,
)
NAMES = st.sampled_from(sorted(USUAL)) | st.text(max_size=10)
SPOILED = st.sampled_from(
    [None, True, "64", "x", "", -1, 0, 1.5, 1e300, 2**53, [], [1], {}, {"a": 1}, "<script>", "nan"]
)
FOREIGN = st.builds(
    lambda kept, changed: {name: USUAL[name] for name in kept} | changed,
    st.sets(st.sampled_from(sorted(USUAL)), min_size=0) | st.just(set(USUAL)),
    st.dictionaries(NAMES, SPOILED | JSON, max_size=4),
)


def store(context: Context, run: Run, config: Any) -> None:
    with Session(context.engine) as session:
        session.execute(update(Run).where(col(Run.id) == run.id).values(config=config))
        session.commit()


@fuzzed(20, values=st.dictionaries(NAMES, JSON, max_size=5))
def test_any_mapping_is_parsed_or_refused(values: dict[str, Any]) -> None:
    if refusal(ConfigError, parse, values) is None:
        assert parse(parse(values).model_dump(mode="json")) == parse(values)


@fuzzed(3, text=st.text(max_size=60) | st.binary(max_size=60) | JSON.map(json.dumps))
def test_a_study_file_of_any_content_is_refused_in_one_line(
    home: Any, tmp_path: Any, text: str | bytes
) -> None:
    path = tmp_path / "study.json"
    path.write_bytes(text.encode(errors="surrogatepass") if isinstance(text, str) else text)
    from typer.testing import CliRunner

    from ganboard.worker.cli.main import app

    result = CliRunner().invoke(app, ["study", str(path), "--dry-run"], catch_exceptions=False)
    assert "Traceback" not in result.output
    assert result.exit_code in (0, 1, 2)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"epochs": 1, "epochs": 2}', id="duplicate"),
        pytest.param("[" * 10_000, id="deep"),
        pytest.param('{"a":' * 10_000 + "1" + "}" * 10_000, id="deep object"),
        pytest.param('{"name": "' + "x" * (50 << 20) + '"}', id="50 MB"),
        pytest.param('{"epochs": ' + "9" * 5000 + "}", id="digits"),
        pytest.param('{"epochs": NaN}', id="NaN"),
        pytest.param('{"\\ud800": 1}', id="surrogate"),
        pytest.param("\ufeff{}", id="mark"),
    ],
)
def test_hostile_json_is_refused_quickly(home: Any, tmp_path: Any, text: str) -> None:
    path = tmp_path / "study.json"
    path.write_text(text, encoding="utf-8")
    began = time.monotonic()
    result = ganboard("study", str(path), code=1)
    assert result.stderr.count("\n") == 1
    assert len(result.stderr) < 1000
    assert time.monotonic() - began < 20


@pytest.mark.thorough
@fuzzed(0.6, config=FOREIGN)
def test_the_command_line_shows_runs_whose_settings_are_foreign(
    context: Context, make_run: MakeRun, config: dict[str, Any]
) -> None:
    from ganboard.db.runs import queries

    found = queries.list_runs(context.engine, limit=1)
    run = found[0] if found else make_run(epochs=2, quality_every=1, status="stopped")
    store(context, run, config)
    ganboard("runs")
    ganboard("show", run.id)
    assert document("show", run.id)["config"] == json.loads(orjson.dumps(config))
    assert len(document("runs", "--search", "batch_size>1 -xla=true")) <= 1
    for act in (lambda: submit.clone(context, run.id, {}), lambda: submit.resume(context, run.id)):
        refusal(CLEAR_ERRORS, act)
    for other in queries.list_runs(context.engine):
        if other.id != run.id:
            (
                removal.remove(context, other.id)
                if other.status != "queued"
                else (submit.stop(context, other.id), removal.remove(context, other.id))
            )
    with Session(context.engine) as session:
        session.execute(update(Run).where(col(Run.id) == run.id).values(status="stopped"))
        session.commit()


VIEWS = ("Losses", "Config", "Timings", "Rates", "Quality", "Notes", "Descent path")
PARTS = ("Losses", "Timings", "Settings", "Quality", "Parallel")
PAGES = [
    *((page, {}) for page in ("runs", "launch", "playground", "system", "studies", "models")),
    *(("run", {"view": view}) for view in VIEWS),
    *(("compare", {"part": part}) for part in PARTS),
]


@fuzzed(
    0.4,
    config=FOREIGN,
    page=st.sampled_from(PAGES),
    status=st.sampled_from(["finished", "stopped", "running", "queued"]),
)
def test_pages_show_runs_whose_settings_are_foreign(
    context: Context,
    make_run: MakeRun,
    config: dict[str, Any],
    page: tuple[str, dict[str, str]],
    status: str,
) -> None:
    run, other = make_run(status=status, epochs=2, quality_every=1), make_run(epochs=2)
    store(context, run, config)
    name, query = page
    named = {
        "run": {"run": run.id},
        "compare": {"runs": f"{run.id},{other.id}"},
        "launch": {"clone": run.id},
        "playground": {"run": run.id},
    }
    open_page(name, **{**query, **named.get(name, {})})
