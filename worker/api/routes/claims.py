"""Claims about two configurations, and what pairs of runs say about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Path, Response

from ganboard.db import heartbeats
from ganboard.db.claims import records
from ganboard.db.models import StatedClaim
from ganboard.db.paging import rows
from ganboard.worker.api import answers, bodies, paging
from ganboard.worker.api.answers import claims as answered
from ganboard.worker.api.callers import Reading, Writing
from ganboard.worker.claims import report, stating, stopping, verdict
from ganboard.worker.context import Context

CREATED = 201
ClaimId = Annotated[str, Path(description="An id, the beginning of one, or `latest`.")]
router = APIRouter(tags=["claims"])


@router.get("/claims", summary="List claims, newest first")
def list_claims(
    context: Reading, limit: paging.Limit = paging.USUALLY_LISTED, after: paging.After = None
) -> answers.Page[answered.ClaimSummary]:
    found = rows.page(context.engine, StatedClaim, limit=limit, after=paging.position(after))
    return paging.answer(found, [_summary(one) for one in found.rows])


@router.post("/plans/claim", summary="Estimate the test of a claim")
def plan(context: Reading, asked: bodies.Claim) -> answered.ClaimPlan:
    """Nothing is stored."""
    prepared = stating.prepare(context, _asked(asked))
    return answered.ClaimPlan(
        statement=prepared.claim.statement,
        title=stating.title(prepared.claim),
        runs=len(prepared.members),
        cost=prepared.cost,
        evaluation=prepared.evaluation,
    )


@router.post("/claims", summary="State a claim and test it", status_code=CREATED)
def state(context: Writing, asked: bodies.Claim) -> answered.ClaimSummary:
    """Pairs of runs with equal seeds are trained until the interval decides or the budget ends.
    `ganboard up`, or `ganboard claims work`, submits them."""
    return _summary(stating.state(context, _asked(asked)))


@router.get("/claims/{claim}", summary="Show a claim with its verdict and evidence")
def show(context: Reading, claim: ClaimId) -> answered.ClaimState:
    return _state(context, records.find(context.engine, claim))


@router.get(
    "/claims/{claim}/page",
    summary="Download a claim as one HTML file",
    response_class=Response,
    responses={200: {"content": {"text/html": {}}}},
)
def page(context: Reading, claim: ClaimId) -> Response:
    """Verdict, charts, data, machine, settings and command; it loads nothing."""
    found = records.find(context.engine, claim)
    headers = {
        "Content-Disposition": f'attachment; filename="claim-{found.id}.html"',
        "X-Content-Type-Options": "nosniff",
    }
    return Response(report.render(verdict.of(found)), media_type="text/html", headers=headers)


@router.post("/claims/{claim}/stop", summary="End a claim without a verdict")
def stop(context: Writing, claim: ClaimId) -> answered.ClaimSummary:
    """Its runs are stopped as well; it cannot be resumed."""
    found = records.find(context.engine, claim)
    stopping.stop(context, found)
    return _summary(records.find(context.engine, found.id))


@router.delete("/claims/{claim}", summary="Delete a claim and its evidence", status_code=204)
def delete(context: Writing, claim: ClaimId) -> None:
    """One that is open must be stopped first. Its runs stay."""
    records.remove(context.engine, records.find(context.engine, claim).id)


def _asked(asked: bodies.Claim) -> stating.Asked:
    return stating.Asked(
        asked.statement,
        _assignments(asked.against),
        _assignments(asked.settings),
        asked.preset or "",
        asked.pairs,
        asked.hours,
        asked.confidence,
        asked.power,
        asked.seed,
    )


def _assignments(values: Mapping[str, Any]) -> list[str]:
    """KEY=VALUE, as claims are typed and stored."""
    return [f"{name}={_word(value)}" for name, value in values.items()]


def _word(value: Any) -> str:
    if value is None:
        return "none"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _summary(claim: StatedClaim) -> answered.ClaimSummary:
    own = {"title": stating.title(claim), "ended_pairs": len(claim.evidence)}
    return answered.ClaimSummary.model_validate(
        claim.model_dump() | own | {"planned_pairs": claim.pairs}
    )


def _state(context: Context, claim: StatedClaim) -> answered.ClaimState:
    result = verdict.of(claim)
    document = report.document(result)
    conditions = [
        known | {"sentence": found.sentence}
        for known, found in zip(document["conditions"], result.found, strict=True)
    ]
    worked = any(one.alive for one in heartbeats.claim_runners(context.engine))
    waits = claim.status == records.OPEN and not worked
    runs = records.runs(context.engine, claim.id)
    return answered.ClaimState.model_validate(
        _summary(claim).model_dump()
        | document
        | {
            "conditions": conditions,
            "warning": stating.NO_RUNNER if waits else None,
            "runs": [
                answered.ClaimRun(pair=pair, arm=arm, run=run_id, status=run and run.shown_status)
                for (pair, arm), (run_id, run) in sorted(runs.items())
            ],
        }
    )
