"""Roles from claims, and the check that every write to the database passes, in pages of a dashboard
with sign-in."""

from __future__ import annotations

import ast
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event
from streamlit.testing.v1 import AppTest

from ganboard import db
from ganboard.app import auth, navigation
from ganboard.db import requests, studies
from ganboard.db.alerts import channels, deliveries
from ganboard.db.alerts import rules as alert_rules
from ganboard.db.claims import records as claims
from ganboard.db.errors import NotAllowed
from ganboard.db.models import Run, StatedClaim, Study
from ganboard.db.runs import annotations as run_annotations
from ganboard.db.runs import commands, imports, queries, trash
from ganboard.db.searches import searches
from ganboard.db.settings import Settings
from ganboard.worker import removal
from ganboard.worker.access import SignIn, sign_in
from ganboard.worker.context import Context
from tests.factories import make_run as stored_run
from tests.sign_in import identity
from tests.ui.pages import MAIN, words

ORIGIN = "https://ganboard.example"
ROOT = Path(__file__).parents[3]


@pytest.fixture
def rules(home: Path, monkeypatch: pytest.MonkeyPatch) -> SignIn:
    """Sign-in switched on."""
    for name, value in identity.environment(ORIGIN).items():
        monkeypatch.setenv(name, value)
    found = sign_in(Settings())
    assert found is not None
    return found


# --- claims ---


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"is_logged_in": False}, "Sign in to see"),
        ({"exp": 0}, "has expired"),
        ({"exp": None}, "has expired"),
        ({"exp": "tomorrow"}, "has expired"),
        ({"exp": float("nan")}, "has expired"),
        ({"email": None}, "did not send your e-mail address"),
        ({"email": ["olga@lab.example"]}, "did not send your e-mail address"),
        ({"email_verified": False}, "has not verified"),
        ({"email_verified": "false"}, "has not verified"),
        ({"email": identity.STRANGER}, "does not have access"),
    ],
)
def test_claims_that_let_nobody_in(rules: SignIn, change: dict[str, Any], says: str) -> None:
    found = auth.visitor(rules, {**identity.claims(identity.OPERATOR), **change})
    assert found.role is None
    assert says in found.refusal


def test_claims_that_let_somebody_in_do_so_until_they_expire(
    rules: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    for email, role in {identity.OPERATOR: "operator", identity.VIEWER: "viewer"}.items():
        for verified in ({}, {"email_verified": True}, {"email_verified": "true"}):
            assert auth.visitor(rules, identity.claims(email, **verified)).role == role
    claims = identity.claims(identity.OPERATOR, seconds=60)
    monkeypatch.setattr(time, "time", lambda: claims["exp"] - 0.5)
    assert auth.visitor(rules, claims).role == "operator"
    monkeypatch.setattr(time, "time", lambda: float(claims["exp"]))
    assert auth.visitor(rules, claims).role is None


# --- pages ---


def page(user: dict[str, Any], name: str = "") -> AppTest:
    at = AppTest.from_file(MAIN, default_timeout=30)
    at.user = user
    if name:
        at.switch_page(f"pages/{name}.py")
    return at.run()


@pytest.mark.thorough
def test_pages_stop_at_the_gate(rules: SignIn, context: Context) -> None:
    stored_run(context, "secret plan")
    for user, says in (
        ({}, "Sign in to see the runs."),
        (identity.claims(identity.STRANGER), "does not have access to this ganboard"),
    ):
        at = page(user)
        assert says in words(at)
        assert [title.value for title in at.title] == ["ganboard"]
        assert not at.dataframe
    assert page(identity.claims(identity.VIEWER)).dataframe


def test_viewers_see_why_buttons_are_off(rules: SignIn, context: Context) -> None:
    at = page(identity.claims(identity.VIEWER), "launch")
    button = next(one for one in at.button if one.label == "Launch")
    assert button.disabled
    assert "Only operators can make changes" in button.help
    at = page(identity.claims(identity.OPERATOR), "launch")
    assert not next(one for one in at.button if one.label == "Launch").disabled


def test_without_sign_in_everybody_is_the_operator(context: Context) -> None:
    assert auth.read_only() is None
    assert auth.writer("why", disabled=True) == {"disabled": True, "help": "why"}
    assert auth.secrets(context.settings) is None
    assert "before_writing" not in navigation.context().engine.get_execution_options()


# --- writes ---

WRITES: dict[str, Callable[[Any, Run], object]] = {
    "create_run": lambda engine, run: commands.create_run(engine, name="x", config={}),
    "request_stop": lambda engine, run: commands.request_stop(engine, run_id=run.id),
    "resume": lambda engine, run: commands.resume(engine, run_id=run.id),
    "delete_run": lambda engine, run: commands.delete_run(engine, run_id=run.id),
    "trash": lambda engine, run: trash.move(engine, run_id=run.id),
    "undelete": lambda engine, run: trash.restore(engine, run_id=run.id),
    "add_tags": lambda engine, run: run_annotations.add_tags(engine, run_ids=[run.id], tags=["x"]),
    "remove_tags": lambda engine, run: run_annotations.remove_tags(
        engine, run_ids=[run.id], tags=["x"]
    ),
    "write_note": lambda engine, run: run_annotations.write_note(
        engine, run_id=run.id, text="x", version=0
    ),
    "archive": lambda engine, run: run_annotations.archive(engine, run_ids=[run.id]),
    "restore": lambda engine, run: run_annotations.restore(engine, run_ids=[run.id]),
    "save_view": lambda engine, run: run_annotations.save_view(
        engine, name="x", page="runs", query=""
    ),
    "delete_view": lambda engine, run: run_annotations.delete_view(engine, name="x"),
    "request": lambda engine, run: requests.ask(engine, requests.SURFACE, [run.id], {}),
    "study": lambda engine, run: studies.store(
        engine, Study(name="x", title="x", definition={}), counted={}, missing=[]
    ),
    "remove_study": lambda engine, run: studies.remove(engine, "x"),
    "add_channel": lambda engine, run: channels.add(
        engine, name="x", kind="slack", masked="x", options={}, secret="x"
    ),
    "change_channel": lambda engine, run: channels.change(
        engine, "x", name="x", masked="x", options={}, secret=None
    ),
    "switch_channel": lambda engine, run: channels.switch(engine, "x", on=False),
    "remove_channel": lambda engine, run: channels.remove(engine, "x"),
    "add_rule": lambda engine, run: alert_rules.add(
        engine, channel_id="x", event=alert_rules.FAILED
    ),
    "change_rule": lambda engine, run: alert_rules.change(
        engine, "x", channel_id="x", event=alert_rules.FAILED
    ),
    "switch_rule": lambda engine, run: alert_rules.switch(engine, "x", on=False),
    "remove_rule": lambda engine, run: alert_rules.remove(engine, "x"),
    "state_claim": lambda engine, run: claims.store(engine, StatedClaim(id="x")),
    "end_claim": lambda engine, run: claims.end(engine, "x", "stopped"),
    "remove_claim": lambda engine, run: claims.remove(engine, "x"),
    "remove_search": lambda engine, run: searches.remove(engine, "x"),
    "test_of_alerts": lambda engine, run: deliveries.begin_test(engine, "x"),
    "import": lambda engine, run: imports.insert(engine, Run(name="x", config={}), [], [], "x"),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize(
    "user",
    [{}, identity.claims(identity.VIEWER), identity.claims(identity.OPERATOR, -1)],
    ids=["nobody", "viewer", "expired"],
)
def test_no_write_passes_without_an_operator(
    rules: SignIn,
    context: Context,
    write: Callable[[Any, Run], object],
    user: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = stored_run(context, "stays")
    monkeypatch.setattr(auth, "_claims", lambda: user)
    engine = navigation.context().engine
    sent: list[str] = []
    event.listen(context.engine, "before_cursor_execute", lambda *args: sent.append(args[2]))
    event.listen(engine, "before_cursor_execute", lambda *args: sent.append(args[2]))
    with pytest.raises(NotAllowed, match=r"Sign in|expired|viewer"):
        write(engine, run)
    assert not sent
    assert queries.find_run(engine, run.id).name == "stays"  # reading goes on


def test_a_viewer_removes_no_files(
    rules: SignIn, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = stored_run(context, "stays")
    trash.move(context.engine, run_id=run.id)
    folder = context.settings.run_dir(run.id)
    folder.mkdir(parents=True)
    monkeypatch.setattr(auth, "_claims", lambda: identity.claims(identity.VIEWER))
    with pytest.raises(NotAllowed, match="viewer"):
        removal.remove(navigation.context(), run.id)
    assert folder.exists()
    assert queries.get_run(context.engine, run.id, trash_too=True) is not None


def test_an_operator_writes(
    rules: SignIn, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = stored_run(context, "stays")
    monkeypatch.setattr(auth, "_claims", lambda: identity.claims(identity.OPERATOR))
    run_annotations.add_tags(navigation.context().engine, run_ids=[run.id], tags=["x"])
    assert run_annotations.tags_of(context.engine, [run.id]) == {run.id: ["x"]}


# --- no way around the check ---


def calls(tree: ast.AST) -> list[ast.Call]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)]


def called(call: ast.Call) -> str:
    return (
        call.func.attr
        if isinstance(call.func, ast.Attribute)
        else call.func.id
        if isinstance(call.func, ast.Name)
        else ""
    )


def test_the_application_reaches_the_database_through_the_checked_engine_only() -> None:
    """Its one context is made in app/navigation.py; the report is a process of its own, started
    from the command line."""
    makers = {
        "open_context",
        "make_engine",
        "create_engine",
        "Context",
        "writing",
        "Session",
        "sessionmaker",
        "begin",
        "raw_connection",
    }
    found = {
        (str(path.relative_to(ROOT)), called(call))
        for path in (ROOT / "app").rglob("*.py")
        for call in calls(ast.parse(path.read_text()))
        if called(call) in makers
    }
    assert found == {("app/navigation.py", "open_context")}
    # where no page writes, but whoever knows the token: tests/unit/app/web/test_reports.py
    unchecked = re.compile(r"before_writing=None")
    files = [path for path in (ROOT / "app").rglob("*.py") if unchecked.search(path.read_text())]
    assert files == [ROOT / "app" / "web" / "reports.py"]


COMMAND_LINE = {"backup", "restore", "atomic_swap", "transfer"}
OF_COMMAND_LINE = re.compile(rf"\s*(from|import) .*\b({'|'.join(COMMAND_LINE)})\b")


def test_sessions_are_made_in_two_places_and_only_one_of_them_commits() -> None:
    """`db.engine.reading`, which never commits, and `db.engine.writing`, which checks; so whatever
    writes has passed the check."""
    found = {
        (path.stem, called(call))
        for package in ("db", "worker")
        for path in (ROOT / package).rglob("*.py")
        if "migrat" not in str(path)
        for call in calls(ast.parse(path.read_text()))
        if called(call) in {"Session", "sessionmaker", "begin", "raw_connection", "commit"}
    }
    # backup and restore are the command line's, and work on whole databases
    found = {(module, name) for module, name in found if module not in COMMAND_LINE}
    assert found == {("engine", "Session"), ("engine", "begin")}
    assert not [
        line
        for path in (ROOT / "app").rglob("*.py")
        for line in path.read_text().splitlines()
        if OF_COMMAND_LINE.match(line)
    ]
    reading, writing = (
        next(
            node
            for node in ast.parse(Path(db.__file__).with_name("engine.py").read_text()).body
            if getattr(node, "name", "") == name
        )
        for name in ("reading", "writing")
    )
    assert "begin" not in {called(call) for call in calls(reading)}
    assert "before_writing" in ast.unparse(writing)
