"""The page of claims."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from ganboard.db.claims import records
from ganboard.worker.context import Context
from tests.ui.pages import button, checked, open_page, words
from tests.ui.pictures import figures
from tests.unit.worker.claims.pairs import play, stated
from tests.unit.worker.claims.test_driver import faster, same


@pytest.mark.usefixtures("context")
def test_without_claims_it_says_what_one_is() -> None:
    assert "A claim compares two configurations" in words(open_page("claims"))


def test_a_claim_that_has_ended(context: Context) -> None:
    ended = play(context, stated(context), faster(1.6), same)
    at = open_page("claims", claim=ended.id)
    said = words(at)
    assert f"Supported after {len(ended.evidence)} pairs of runs" in said
    assert "claimed at least 1.3×" in said
    assert "it says nothing about others" in said
    assert len(figures(at)) == 2
    assert list(at.dataframe[0].value["pair"]) == [pair["pair"] for pair in ended.evidence]
    assert at.code[0].value.startswith("ganboard claim 'at least 1.3x")
    assert "No claims process" not in said


def test_an_open_claim_can_be_stopped(context: Context) -> None:
    claim = stated(context)
    at = open_page("claims")
    assert "Open: 0 pairs of at most 6 counted" in words(at)
    assert "No claims process is running" in words(at)
    checked(button(at, "Stop").click().run())
    assert records.find(context.engine, claim.id).status == "stopped"


def confirmation() -> None:
    """The dialog alone: the harness has no fragments, and runs a whole script at each click."""
    from ganboard.app import navigation
    from ganboard.app.claims import actions
    from ganboard.db.claims import records

    context = navigation.context()
    for claim in records.listed(context.engine):
        actions.confirm(context, claim)


def test_a_claim_that_has_ended_can_be_deleted(context: Context) -> None:
    claim = stated(context)
    assert "Delete" not in [one.label for one in open_page("claims").button]
    records.end(context.engine, claim.id, "stopped")
    at = checked(button(open_page("claims"), "Delete").click().run())
    assert "will be deleted with its evidence, of 0 pairs. Its runs stay." in words(at)
    assert records.listed(context.engine)
    at = checked(AppTest.from_function(confirmation, default_timeout=30).run())
    at = checked(at.button(key="delete_confirmed").click().run())
    assert records.listed(context.engine) == []
    assert "It was deleted, or the address" not in words(open_page("claims"))


def test_stating_a_claim(context: Context) -> None:
    at = open_page("claims")
    for pairs, says in (("2", "pairs=2 is outside 3 to 100"), ("4", "At most 8 runs; no estimate")):
        at.session_state["claim_pairs"] = pairs
        button(at, "State a claim").click()
        at = checked(at.run())
        assert says in words(at)
    at = checked(at.get_by_key("claim_start").click().run())
    (claim,) = records.listed(context.engine)
    assert (claim.pairs, claim.status) == (4, "open")
    assert at.query_params["claim"] == claim.id


def test_an_unknown_claim(context: Context) -> None:
    stated(context)
    for address in ("gone", "<b>", "a" * 500):
        checked(open_page("claims", claim=address))
    assert "There is no claim with this id" in words(open_page("claims", claim="gone"))


def test_a_run_names_its_claim(context: Context) -> None:
    ended = play(context, stated(context, pairs=3), faster(1.6), same)
    run = ended.evidence[0]["runs"]["control"]
    at = open_page("run", run=run)
    assert any(link.proto.label.startswith("Claim ") for link in at.get("page_link"))
    listed = open_page("runs", q=f"sweep:{ended.id}")
    labels = [link.proto.label.replace("\\", "") for link in listed.get("page_link")]
    assert any(label.startswith("Claim at least 1.3") for label in labels), labels
