"""One round of a search: stop the runs that it needs no longer, prune what its pruner stops, submit
what its budget allows. All of it is read from the database and stored there at once, so that any
process may make the next round."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ganboard.db.models import ENDED, Run, Search
from ganboard.db.searches import searches, trials
from ganboard.db.searches.trials import Trial
from ganboard.gan.config import parse
from ganboard.gan.data import catalog
from ganboard.worker.context import Context
from ganboard.worker.searches import definition
from ganboard.worker.searches import objective as objectives
from ganboard.worker.searches.definition import IMPORTANCE_TRIALS, Budget, used_up
from ganboard.worker.submission import submit, sweep

log = logging.getLogger("ganboard.searches")

REFUSED = 20  # combinations in a row that cannot run, after which a search has failed


def make(context: Context, search: Search) -> list[Run]:
    """One round; returns the runs that it submitted. Raises ConfigError and DatasetError where no
    combination could run any more, such as for data that are gone: a person has to act."""
    metric = objectives.of_stored(search.objective).metric
    found = trials.of_search(context.engine, search.id, metric)
    if _stop_needless(context, search, found):
        found = trials.of_search(context.engine, search.id, metric)
    found = _prune(context, search, found)
    if _full(search, found) is None:
        catalog.count(parse(search.settings), context.settings.data)
    made: list[Run] = []
    while (why := _full(search, found)) is None:
        added, trial = _next(context, search, found)
        if added:
            made.append(added)
        if trial is None:
            break
        found.append(trial)
    submit.call(context, made)
    _rate(context, search, found)
    if why and not _going(found):
        searches.end(context.engine, search.id, searches.FINISHED, why)
    return made


def _stop_needless(context: Context, search: Search, found: list[Trial]) -> int:
    """Stop the runs that have reached the target and, once the hours are used, those that have
    never started; returns how many."""
    objective = objectives.of_stored(search.objective)
    over = definition.hours_used(Budget(search.runs, search.hours, search.parallel), found)
    stopped = 0
    for trial in _going(found):
        assert trial.run is not None
        said, unstarted = None, False
        if reached := objective.reached(trial):
            said = (
                f"Stopped by search {search.id}: {objective.goal} was reached after epoch"
                f" {reached.epoch}, so its result is known."
            )
        elif over and not trial.run.attempt:
            unstarted = True
            said = f"Stopped by search {search.id} before its start. {over}"
        if said and trials.stop(context.engine, trial.run.id, said, unstarted=unstarted):
            log.info("Search %s, trial %d: %s", search.id, trial.number, said)
            stopped += 1
    return stopped


def _rate(context: Context, search: Search, found: Sequence[Trial]) -> None:
    """Work out how much each setting matters once enough runs are finished, and again with each
    further one."""
    objective = objectives.of_stored(search.objective)
    finished = sum(objective.result(trial) is not None for trial in found)
    if finished < IMPORTANCE_TRIALS or finished == search.importance.get("trials"):
        return
    from ganboard.worker.searches import proposals

    shares = proposals.importance(search, found)
    searches.rate(context.engine, search.id, {"trials": finished, "shares": shares})


def _full(search: Search, found: Sequence[Trial]) -> str | None:
    """Why nothing may be submitted now: a sentence if the budget is used, empty if enough runs are
    going; None if one may be."""
    why = used_up(Budget(search.runs, search.hours, search.parallel), list(found))
    if why is None and len(_going(found)) >= search.parallel:
        return ""
    return why


def _going(found: Sequence[Trial]) -> list[Trial]:
    return [trial for trial in found if trial.run and trial.run.status not in ENDED]


def _next(
    context: Context, search: Search, found: Sequence[Trial]
) -> tuple[Run | None, Trial | None]:
    """Submit the next combination; the run, if it can be one, and the trial. None where the search
    has ended, or another process was quicker."""
    from ganboard.worker.searches import proposals

    engine, number = context.engine, len(found)
    refused = [trial.problem for trial in found[-REFUSED:]]
    if len(refused) == REFUSED and all(refused):
        said = f"{REFUSED} combinations in a row cannot run. {refused[-1]}"
        searches.end(engine, search.id, searches.FAILED, said)
        return None, None
    params = proposals.propose(search, found)
    if params is None:
        if not _going(found):
            searches.end(engine, search.id, searches.FINISHED, "All combinations are tried.")
        return None, None
    member = _member(context, search, params)
    run = None
    if member.problem is None:
        assert member.config is not None
        run = member.name, member.config.model_dump(mode="json")
    stored, made = trials.submit(engine, search.id, number, params, run=run, problem=member.problem)
    if not stored:
        return None, None
    log.info("Search %s, trial %d: %s", search.id, number, made.id if made else member.problem)
    return made, Trial(number, params, member.problem, 0, None, made, ())


def _member(context: Context, search: Search, params: dict[str, Any]) -> sweep.Member:
    """The run that a combination would be."""
    (member,) = sweep.members(
        search.settings,
        {name: [value] for name, value in params.items()},
        title=search.name,
        data_dir=context.settings.data,
        here=submit.machines(context),
        history=submit.run_history(context),
        finished={},
    )
    return member


def _prune(context: Context, search: Search, found: list[Trial]) -> list[Trial]:
    """Show the pruner each evaluation that it has not seen, in the order in which they were made;
    returns the trials with what it has seen."""
    if search.pruner == "none":
        return found
    from ganboard.worker.searches import proposals

    objective = objectives.of_stored(search.objective)
    unseen = sorted(
        (one.made_at, trial.number, one.epoch)
        for trial in found
        for one in objectives.finite(trial.evaluations)
        if one.epoch > trial.seen_epoch
    )
    for _, number, epoch in unseen:
        trial = found[number]
        going = trial.run is not None and trial.run.status not in ENDED
        going = going and objective.reached(trial) is None  # and is stopped already
        prune = going and proposals.prunes(search, found, trial, epoch)
        if trials.seen(context.engine, search.id, number, epoch, prune=prune) and prune:
            log.info("Search %s, trial %d: pruned at epoch %d", search.id, number, epoch)
        found[number] = replace(trial, seen_epoch=epoch)
    return found
