"""Tokens of the API on the page System."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from ganboard.db.access import tokens
from ganboard.worker.context import Context
from tests.sign_in import identity
from tests.ui.pages import MAIN, button, checked, open_page, words

ORIGIN = "https://ganboard.example"


def dialog() -> None:
    """The dialog alone: the harness has no fragments, and runs a whole script at each click."""
    from ganboard.app import navigation
    from ganboard.app.system import tokens as section

    context = navigation.context()
    section.new(context, context.user or None)


def create(name: str, claims: dict[str, object] | None = None) -> AppTest:
    at = AppTest.from_function(dialog, default_timeout=30)
    if claims is not None:
        at.user = claims
    checked(at.run())
    at.text_input(key="token_name").set_value(name)
    return checked(button(at, "Create").click().run())


def test_a_token_is_shown_once(context: Context) -> None:
    (shown,) = create("nightly *sweep*").code
    found = tokens.find(context.engine, shown.value)
    assert found is not None
    assert (found.name, found.scope) == ("nightly *sweep*", "read")
    at = open_page("system")
    assert "**nightly *sweep***" in words(at)
    assert shown.value not in words(at)
    assert tokens.PREFIX not in repr(at.main)


def test_a_token_is_revoked(context: Context) -> None:
    token, text = tokens.create(context.engine, name="old", owner="olga")
    at = open_page("system")
    assert "of olga: read, expires in" in words(at)
    checked(at.button(key=f"revoke_{token.id}").click().run())
    assert tokens.find(context.engine, text) is None
    assert "of olga: read" not in words(at)


@pytest.mark.parametrize(
    ("name", "sentence"), [("", "1 to 80 characters"), ("a\u202eb", "control character")]
)
def test_a_bad_name_is_refused(context: Context, name: str, sentence: str) -> None:
    assert sentence in words(create(name))
    assert tokens.listed(context.engine) == []


def test_a_viewer_makes_tokens_that_read_and_sees_no_others(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, _ = tokens.create(context.engine, name="of another", owner=identity.OPERATOR)
    for variable, value in identity.environment(ORIGIN).items():
        monkeypatch.setenv(variable, value)
    at = create("mine", identity.claims(identity.VIEWER))
    assert [box.options for box in at.selectbox if box.label == "Scope"] == [["Read"]]
    (mine,) = tokens.listed(context.engine, owner=identity.VIEWER)
    page = AppTest.from_file(MAIN, default_timeout=30)
    page.user = identity.claims(identity.VIEWER)
    page.switch_page("pages/system.py")
    checked(page.run())
    assert "**mine**" in words(page)
    assert "of another" not in words(page)
    checked(page.button(key=f"revoke_{mine.id}").click().run())
    assert [one.id for one in tokens.listed(context.engine)] == [other.id]
