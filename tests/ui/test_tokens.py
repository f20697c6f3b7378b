"""Tokens of the API on the page System."""

from __future__ import annotations

import pytest

from ganboard.db.access import tokens
from ganboard.worker.context import Context
from tests.ui.pages import button, checked, open_page, words

FORM = "Create"


def create(at, name: str):  # type: ignore[no-untyped-def]
    at.text_input(key="token_name").set_value(name)
    return checked(button(at, FORM).click().run())


def test_a_token_is_shown_once(context: Context) -> None:
    at = create(open_page("system"), "nightly *sweep*")
    (text,) = (code.value for code in at.code if code.value.startswith(tokens.PREFIX))
    found = tokens.find(context.engine, text)
    assert found is not None
    assert (found.name, found.scope) == ("nightly *sweep*", "read")
    again = checked(at.run())
    assert text not in words(again)
    assert not [code for code in again.code if tokens.PREFIX in code.value]
    assert "**nightly *sweep***: read, expires in" in words(again)


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
    at = create(open_page("system"), name)
    assert sentence in words(at)
    assert tokens.listed(context.engine) == []
