"""`ganboard claims`: removing one, and one that no process works on."""

from __future__ import annotations

from ganboard.db.claims import records
from ganboard.db.models import CLAIMS
from ganboard.worker.context import Context
from tests.cli import document, ganboard, refused
from tests.factories import make_worker
from tests.unit.worker.claims.pairs import stated


def test_a_claim_is_removed(context: Context) -> None:
    first, second = stated(context), stated(context)
    assert "is open. Stop it before deleting it." in refused("claims", "remove", first.id, "--yes")
    for claim in (first, second):
        ganboard("claims", "stop", claim.id)
    for options in ((), ("--json",)):
        said = refused("claims", "remove", first.id, *options)
        assert "cannot be undone. Confirm with --yes." in said
    assert len(records.listed(context.engine)) == 2
    assert ganboard("claims", "remove", first.id, "-y").stdout == (
        f"Deleted claim {first.id} ({first.statement}). Its runs stay: ganboard runs --search"
        f" sweep:{first.id}\n"
    )
    assert document("claims", "remove", "latest", "--yes") == {"id": second.id, "removed": True}
    assert records.listed(context.engine) == []
    assert "There is no claim" in refused("claims", "remove", first.id, "--yes")


def test_an_open_claim_without_a_process(context: Context) -> None:
    claim = stated(context)
    assert "No claims process is running" in ganboard("claims", "show", "latest").stderr
    make_worker(context, "testbox:claims:1", kind=CLAIMS)
    assert ganboard("claims", "show", claim.id).stderr == ""
