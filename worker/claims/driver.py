"""The next step of every open claim: its next run, the evidence of an ended pair, or its verdict.

What to do follows from the database alone, so the process may be killed at any time and several may
run: a run is created with the row that lists it, in one transaction on the claim's row.
"""

from __future__ import annotations

import logging
from contextlib import suppress

from ganboard.db.claims import records
from ganboard.db.errors import NotAllowed, UnknownClaim
from ganboard.db.models import Run, StatedClaim
from ganboard.gan.config import ConfigError
from ganboard.worker.claims import evidence, verdict
from ganboard.worker.claims.evidence import NoEvidence
from ganboard.worker.claims.verdict import INVALID, UNDECIDED
from ganboard.worker.context import Context
from ganboard.worker.submission import submit
from ganboard.worker.submission.naming import NAME_LENGTH

log = logging.getLogger("ganboard.claims")


def advance(context: Context) -> int:
    """Take every open claim as far as it goes now; returns how many steps were taken. Raises errors
    of the database."""
    steps = 0
    for claim in records.listed(context.engine, only_open=True):
        with suppress(UnknownClaim):  # stopped and deleted meanwhile
            while _step(context, records.find(context.engine, claim.id)):
                steps += 1
    return steps


def _step(context: Context, claim: StatedClaim) -> bool:
    """One step; False if there is nothing to do now."""
    if claim.status != records.OPEN:
        return False
    try:
        result = verdict.of(claim)
    except ConfigError as error:  # its model is gone
        return _end(context, claim, INVALID, [str(error)])
    if result.verdict != UNDECIDED:
        return _end(context, claim, result.verdict)
    number = len(claim.evidence) + 1
    there = records.runs(context.engine, claim.id)
    begun = any(pair == number for pair, _ in there)
    if not begun and (number > claim.pairs or _too_late(context, claim)):
        return _give_up(context, claim, result)
    runs: dict[str, Run] = {}
    for arm in evidence.order(number):
        if (number, arm) not in there:
            return _submit(context, claim, number, arm)
        run_id, run = there[number, arm]
        if run is None:
            return _end(context, claim, INVALID, [f"Run {run_id} of pair {number} was deleted."])
        if run.status in ("failed", "stopped"):
            how = "failed" if run.status == "failed" else "was stopped"
            why = f" ({run.error})" if run.error else ""
            return _end(context, claim, INVALID, [f"Run {run_id} of pair {number} {how}{why}."])
        if run.status != "finished":
            return False
        runs[arm] = run
    conditions = [found.condition for found in result.found]
    try:
        ended = evidence.pair(context.engine, number, runs, conditions, claim.machine)
    except NoEvidence as error:
        return _end(context, claim, INVALID, [str(error)])
    machine = evidence.machine(runs[records.CONTROL])
    return records.add_evidence(context.engine, claim.id, ended, machine)


def _submit(context: Context, claim: StatedClaim, number: int, arm: str) -> bool:
    config = claim.treatment if arm == records.TREATMENT else claim.control
    seed = claim.seed + number - 1
    name = f"{claim.given['names'][arm]}, seed {seed}"
    run = records.add_run(
        context.engine,
        claim.id,
        pair=number,
        arm=arm,
        name=name if len(name) <= NAME_LENGTH else f"{name[: NAME_LENGTH - 1]}…",
        config={**config, "seed": seed},
    )
    if run is None:
        return False
    log.info("Claim %s: queued the %s of pair %d as run %s.", claim.id, arm, number, run.id)
    submit.call(context, [run])
    return True


def _too_late(context: Context, claim: StatedClaim) -> bool:
    if claim.hours is None:
        return False
    return records.hours_since(context.engine, claim) >= claim.hours


def _give_up(context: Context, claim: StatedClaim, result: verdict.Result) -> bool:
    """The budget has ended: undecided, or invalid where hardly a pair counts."""
    refused = [
        f"Pair {pair['pair']}: {pair['refused']}" for pair in claim.evidence if pair["refused"]
    ]
    if refused and not any(found.intervals for found in result.found):
        return _end(context, claim, INVALID, refused)
    return _end(context, claim, UNDECIDED)


def _end(
    context: Context, claim: StatedClaim, status: str, reasons: list[str] | None = None
) -> bool:
    with suppress(NotAllowed):  # another process was quicker
        records.end(context.engine, claim.id, status, reasons or [])
        log.info("Claim %s is %s.", claim.id, status)
    return True
