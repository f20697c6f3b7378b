"""Rounds of a search: what is submitted and pruned, once, and the same whoever makes them."""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import replace
from typing import Any

import pytest

from ganboard.db.engine import make_engine
from ganboard.db.errors import NotAllowed, UnknownSearch
from ganboard.db.models import Search
from ganboard.db.runs import commands, queries, trash
from ganboard.db.searches import searches, trials
from ganboard.worker.context import Context
from ganboard.worker.errors import QueueUnreachable
from ganboard.worker.searches import definition, progress, rounds
from ganboard.worker.searches.definition import Budget
from ganboard.worker.searches.objective import Objective
from tests.unit.db.stored_runs import IN_FORK
from tests.unit.worker.searches.conftest import StartSearch, Trainer, start, train


def found(context: Context, search: Search) -> list[trials.Trial]:
    return trials.of_search(context.engine, search.id, "fid")


def state(context: Context, search: Search) -> tuple[str, str | None]:
    stored = searches.get(context.engine, search.id)
    assert stored is not None
    return stored.state, stored.message


def whole(context: Context, search: Search) -> list[dict[str, Any]]:
    """Train a search to its end, run after run; returns what was tried."""
    while state(context, search)[0] == "running":
        for run in rounds.make(context, search):
            train(context.engine, run.id)
    return [dict(trial.params) for trial in found(context, search)]


def test_a_search_submits_its_budget_a_few_at_a_time(anywhere: Context, begin: StartSearch) -> None:
    search = begin(runs=3, parallel=2)
    first = rounds.make(anywhere, search)
    assert [run.sweep for run in first] == [search.id] * 2
    assert {run.preset for run in first} == {"tiny"}
    assert rounds.make(anywhere, search) == []  # two are going
    train(anywhere.engine, first[0].id)
    (third,) = rounds.make(anywhere, search)
    assert third.name.startswith("tiny, G rate ")
    for run in (first[1], third):
        train(anywhere.engine, run.id)
    assert rounds.make(anywhere, search) == []
    assert state(anywhere, search) == ("finished", "The budget of 3 runs is used.")
    assert len(found(anywhere, search)) == queries.count_runs(anywhere.engine) == 3


def test_runs_belong_to_who_started_the_search(anywhere: Context) -> None:
    search = start(replace(anywhere, user="ada@example.org"), parallel=1)
    (run,) = rounds.make(anywhere, search)
    assert run.owner == search.owner == "ada@example.org"


def test_hours_end_a_search(anywhere: Context, begin: StartSearch) -> None:
    search = begin(runs=9, hours=10 / 3600)  # runs take 6 s
    assert len(whole(anywhere, search)) == 2
    assert state(anywhere, search)[1] == "The budget of 0.00277778 hours of training is used."
    search = definition.resume(anywhere, search, replace(Budget.of(search), hours=16 / 3600))
    assert len(whole(anywhere, search)) == 3
    search = definition.resume(anywhere, search, replace(Budget.of(search), runs=5, hours=None))
    assert len(whole(anywhere, search)) == 5


def test_all_combinations_end_a_search(anywhere: Context, begin: StartSearch) -> None:
    search = begin("batch_size=16,32", "xla=true,false", runs=9)
    tried = whole(anywhere, search)
    assert len({tuple(params.values()) for params in tried}) == len(tried) == 4
    assert state(anywhere, search) == ("finished", "All combinations are tried.")


def test_what_cannot_run_is_stored_with_its_reason(anywhere: Context, begin: StartSearch) -> None:
    search = begin("batch_size=32,64,4000", runs=9)
    whole(anywhere, search)
    refused = [trial for trial in found(anywhere, search) if trial.problem]
    assert [(trial.params["batch_size"], trial.run) for trial in refused] == [(4000, None)]
    assert "larger than limit=128" in str(refused[0].problem)


def test_a_search_of_what_cannot_run_fails(anywhere: Context, begin: StartSearch) -> None:
    search = begin("batch_size=100..5000:log", runs=40)
    engine = anywhere.engine
    for number in range(rounds.REFUSED):
        trials.submit(engine, search.id, number, {"batch_size": 4000 - number}, problem="Too big.")
    assert rounds.make(anywhere, search) == []
    assert state(anywhere, search) == ("failed", "20 combinations in a row cannot run. Too big.")


def test_halving_prunes_the_worse_ones(anywhere: Context, begin: StartSearch) -> None:
    search = begin(runs=6, pruner="halving", parallel=6, epochs=9)
    going = {run.id: Trainer(anywhere.engine, run.id) for run in rounds.make(anywhere, search)}
    left = dict(going)
    for epoch in range(1, 10):
        for run_id, trainer in list(left.items()):
            if not trainer.epochs(epoch, epoch):
                del left[run_id]
            rounds.make(anywhere, search)
    done = found(anywhere, search)
    pruned = [trial for trial in done if trial.pruned_epoch]
    finished = [trial for trial in done if trial.run and trial.run.status == "finished"]
    assert {trial.run.shown_status for trial in pruned if trial.run} == {"pruned"}
    assert len(pruned) + len(finished) == 6
    assert len(pruned) >= 3
    best = min(done, key=lambda trial: trial.evaluations[0].value)
    assert best in finished
    assert state(anywhere, search)[0] == "finished"
    events = queries.events(anywhere.engine, pruned[0].run.id)  # type: ignore[union-attr]
    said = f"Pruned by search {search.id} after the evaluation of epoch {pruned[0].pruned_epoch}."
    assert said in [event.text for event in events]


def test_the_median_prunes_after_a_few_finished_runs(anywhere: Context, begin: StartSearch) -> None:
    search = begin(runs=5, pruner="median")
    for _ in range(3):
        (run,) = rounds.make(anywhere, search)
        train(anywhere.engine, run.id)
    (run,) = rounds.make(anywhere, search)
    bad = Trainer(anywhere.engine, run.id, lambda _, epoch: 1000.0)
    assert bad.epochs(1, 1)
    rounds.make(anywhere, search)
    assert not bad.epochs(2, 2)
    assert found(anywhere, search)[3].pruned_epoch == 1


def test_a_pruned_run_that_a_person_resumes_is_left_alone(
    anywhere: Context, begin: StartSearch
) -> None:
    search = begin(runs=2, pruner="halving")
    (first,) = rounds.make(anywhere, search)
    Trainer(anywhere.engine, first.id, lambda _, epoch: 1.0).epochs(1, 3)
    (second,) = rounds.make(anywhere, search)
    trainer = Trainer(anywhere.engine, second.id, lambda _, epoch: 2.0)
    trainer.epochs(1, 1)
    rounds.make(anywhere, search)
    assert not trainer.epochs(2, 2)
    resumed = commands.resume(anywhere.engine, run_id=second.id)
    assert resumed.pruned_at is None
    again = Trainer(anywhere.engine, second.id, lambda _, epoch: 2.0)
    assert again.epochs(3, 3)
    rounds.make(anywhere, search)
    assert found(anywhere, search)[1].run.status == "finished"  # type: ignore[union-attr]


def test_a_run_that_a_person_stopped_is_not_pruned(anywhere: Context, begin: StartSearch) -> None:
    search = begin(runs=2, pruner="halving")
    (first,) = rounds.make(anywhere, search)
    Trainer(anywhere.engine, first.id, lambda _, epoch: 1.0).epochs(1, 3)
    (second,) = rounds.make(anywhere, search)
    trainer = Trainer(anywhere.engine, second.id, lambda _, epoch: 2.0)
    trainer.epochs(1, 1)
    commands.request_stop(anywhere.engine, run_id=second.id)
    rounds.make(anywhere, search)
    trainer.epochs(2, 2)
    stopped = found(anywhere, search)[1]
    assert stopped.run is not None
    assert (stopped.pruned_epoch, stopped.run.shown_status) == (None, "stopped")


def test_seconds_until_a_target(anywhere: Context, begin: StartSearch) -> None:
    objective = Objective("fid", "seconds", 12.0)
    search = begin(runs=4, objective=objective)
    whole(anywhere, search)
    results = [objective.result(trial) for trial in found(anywhere, search)]
    for trial, result in zip(found(anywhere, search), results, strict=True):
        reached = [one for one in trial.evaluations if one.value <= 12.0]
        assert result == (reached[0].training_seconds if reached else None)
    assert None in results
    assert any(results)


def events(context: Context, run_id: str) -> list[str]:
    return [event.text for event in queries.events(context.engine, run_id)]


def test_a_run_stops_at_the_target_and_has_its_result(
    anywhere: Context, begin: StartSearch
) -> None:
    objective = Objective("fid", "seconds", 12.0)
    search = begin(runs=2, objective=objective, epochs=9)
    (run,) = rounds.make(anywhere, search)
    trainer = Trainer(anywhere.engine, run.id, lambda _, epoch: 14.0 - epoch)
    assert trainer.epochs(1, 2)
    assert rounds.make(anywhere, search) == []
    assert not trainer.epochs(3, 3)
    said = (
        f"Stopped by search {search.id}: FID ≤ 12 was reached after epoch 2, so its result is"
        " known."
    )
    assert events(anywhere, run.id).count(said) == 1
    shown = progress.read(anywhere, search)
    assert (shown.state(shown.trials[0]), shown.finished) == (progress.REACHED, 1)
    assert [result for _, result in shown.results] == [4.0]
    # a person resumes it: it goes on, and has the same result
    commands.resume(anywhere.engine, run_id=run.id)
    again = Trainer(anywhere.engine, run.id, lambda _, epoch: 14.0 - epoch)
    assert again.epochs(4, 5)
    assert rounds.make(anywhere, search) == []
    assert again.epochs(6, 9)
    assert [result for _, result in progress.read(anywhere, search).results] == [4.0]
    (other,) = rounds.make(anywhere, search)
    train(anywhere.engine, other.id)
    rounds.make(anywhere, search)
    assert state(anywhere, search) == ("finished", "The budget of 2 runs is used.")


def test_what_waits_does_not_start_once_the_hours_are_used(
    anywhere: Context, begin: StartSearch
) -> None:
    search = begin(runs=9, parallel=3, hours=5 / 3600, epochs=5)  # epochs take 2 s
    first, second, third = rounds.make(anywhere, search)
    done, trains = Trainer(anywhere.engine, first.id), Trainer(anywhere.engine, second.id)
    assert done.epochs(1, 2)
    assert trains.epochs(1, 1)
    assert rounds.make(anywhere, search) == []
    stopped = found(anywhere, search)[2]
    assert stopped.run is not None
    assert (stopped.run.id, stopped.run.status) == (third.id, "stopped")
    assert events(anywhere, third.id)[0].startswith(
        f"Stopped by search {search.id} before its start. The budget of 0.00138889 hours"
    )
    assert state(anywhere, search)[0] == "running"
    # those that train go on
    assert done.epochs(3, 5)
    assert trains.epochs(2, 5)
    rounds.make(anywhere, search)
    assert state(anywhere, search)[0] == "finished"


def test_only_what_never_started_is_stopped_for_the_hours(
    anywhere: Context, begin: StartSearch
) -> None:
    (run,) = rounds.make(anywhere, begin())
    trainer = Trainer(anywhere.engine, run.id)
    assert not trials.stop(anywhere.engine, run.id, "Too late.", unstarted=True)
    assert trainer.epochs(1, 3)
    assert not trials.stop(anywhere.engine, run.id, "Too late.")


def test_deleted_runs_count_and_are_not_submitted_again(
    anywhere: Context, begin: StartSearch
) -> None:
    search = begin(runs=3)
    (first,) = rounds.make(anywhere, search)
    train(anywhere.engine, first.id)
    commands.delete_run(anywhere.engine, run_id=first.id)
    (second,) = rounds.make(anywhere, search)
    train(anywhere.engine, second.id)
    trash.move(anywhere.engine, run_id=second.id)
    assert len(whole(anywhere, search)) == 3
    assert [trial.run is None for trial in found(anywhere, search)] == [True, True, False]


def test_stop_and_continue(anywhere: Context, begin: StartSearch) -> None:
    search = begin(runs=3, parallel=2)
    (first, second) = rounds.make(anywhere, search)
    searches.stop(anywhere.engine, search.id)
    train(anywhere.engine, first.id)
    assert rounds.make(anywhere, search) == []  # a driver that has read it before
    assert definition.stop_runs(anywhere, search) == 1
    search = definition.resume(anywhere, search, replace(Budget.of(search), runs=4))
    assert len(rounds.make(anywhere, search)) == 2
    assert queries.get_run(anywhere.engine, second.id).status == "stopped"  # type: ignore[union-attr]


def test_a_removed_search_leaves_its_runs(anywhere: Context, begin: StartSearch) -> None:
    search = begin(runs=3)
    (run,) = rounds.make(anywhere, search)
    with pytest.raises(NotAllowed, match="is running"):
        searches.remove(anywhere.engine, search.id)
    searches.stop(anywhere.engine, search.id)
    searches.remove(anywhere.engine, search.id)
    assert rounds.make(anywhere, search) == []  # a driver that has read it before
    assert searches.listed(anywhere.engine) == found(anywhere, search) == []
    train(anywhere.engine, run.id)
    assert [one.id for one in queries.sweep_runs(anywhere.engine, search.id)] == [run.id]
    with pytest.raises(UnknownSearch):
        searches.remove(anywhere.engine, search.id)


def test_several_drivers_submit_each_run_once(
    anywhere: Context, begin: StartSearch, url: str
) -> None:
    search = begin(runs=12, parallel=12)
    start = threading.Barrier(3)
    failed: list[BaseException] = []

    def work() -> None:
        own = Context(anywhere.settings, make_engine(url))
        start.wait()
        try:
            while len(found(own, search)) < 12:
                rounds.make(own, search)
        except BaseException as error:
            failed.append(error)
        own.engine.dispose()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert queries.count_runs(anywhere.engine) == 12
    tried = [trial.params["g_learning_rate"] for trial in found(anywhere, search)]
    assert len(set(tried)) == 12


def _killed(context: Context, search: Search, url: str, call: int) -> None:
    """Make a round in this process, and be killed with the given statement."""
    from sqlalchemy import event

    engine, left = make_engine(url, pooled=False), [call]

    def counted(*_: object) -> None:
        left[0] -= 1
        if left[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    event.listen(engine, "before_cursor_execute", counted)
    event.listen(engine, "commit", counted)
    rounds.make(Context(context.settings, engine), search)


def test_a_kill_at_any_moment_loses_nothing_and_repeats_nothing(
    anywhere: Context, begin: StartSearch, url: str
) -> None:
    expected = whole(anywhere, begin(runs=3, pruner="halving"))
    search = begin(runs=3, pruner="halving")
    call = deaths = 0
    while state(anywhere, search)[0] == "running":
        child = IN_FORK.Process(target=_killed, args=(anywhere, search, url, call))
        child.start()
        child.join()
        deaths += child.exitcode == -signal.SIGKILL
        call = call + 3 if child.exitcode == -signal.SIGKILL else 0
        runs = queries.sweep_runs(anywhere.engine, search.id)
        assert [trial.run.id for trial in found(anywhere, search) if trial.run] == [
            run.id for run in runs
        ]
        for run in runs:
            if run.status == "queued" and child.exitcode == 0:
                train(anywhere.engine, run.id)
    assert deaths > 9
    assert [dict(trial.params) for trial in found(anywhere, search)] == expected


def test_without_redis_runs_are_stored(
    anywhere: Context, begin: StartSearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(_: Context) -> None:
        raise QueueUnreachable("does not answer", "Start it")

    monkeypatch.setattr(Context, "redis", away)
    (run,) = rounds.make(anywhere, begin())
    assert run.status == "queued"
