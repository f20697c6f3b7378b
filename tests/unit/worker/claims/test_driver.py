"""From a stated claim to its verdict, with workers that are simulated; kills, deletions, several
processes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from threading import Barrier, Thread

import pytest

from ganboard.db.claims import records
from ganboard.db.engine import writing
from ganboard.db.errors import NotAllowed, UnknownClaim
from ganboard.db.models import StatedClaim
from ganboard.db.runs import commands, queries, trash
from ganboard.worker.claims import driver, stopping, verdict
from ganboard.worker.context import Context
from tests.factories import HARDWARE, make_run
from tests.unit.worker.claims.pairs import play, stated, train, waiting


def noise(seed: int) -> float:
    """A percent or two, alternating."""
    return 0.01 * ((seed * 7) % 5 - 2)


def faster(factor: float) -> Callable[[bool, int], float]:
    return lambda treated, seed: (1 / factor if treated else 1.0) * (1 + noise(seed + 3 * treated))


def same(treated: bool, seed: int) -> float:
    return 5.0 + noise(seed + treated)


def test_a_claim_that_holds_is_supported_before_the_budget_ends(anywhere: Context) -> None:
    ended = play(anywhere, stated(anywhere), faster(1.6), same)
    assert ended.status == "supported"
    result = verdict.of(ended)
    assert 3 < result.counted < 6
    assert [found.status for found in result.found] == ["supported"] * 2
    assert result.headline == f"Supported after {result.counted} pairs of runs."
    # the arms swap, and both have the same seed
    runs = queries.sweep_runs(anywhere.engine, ended.id)
    arms = [run.config["precision"] for run in runs]
    assert arms[:4] == ["float32", "mixed_bfloat16", "mixed_bfloat16", "float32"]
    assert [run.config["seed"] for run in runs[:6]] == [0, 0, 1, 1, 2, 2]
    assert runs[0].name == "tiny, float32, seed 0"


def test_runs_belong_to_who_stated_the_claim(anywhere: Context) -> None:
    claim = stated(replace(anywhere, user="ada@example.org"))
    driver.advance(anywhere)
    (run,) = waiting(anywhere)
    assert run.owner == claim.owner == "ada@example.org"


def test_a_claim_that_does_not_hold_is_refuted(context: Context) -> None:
    ended = play(context, stated(context), faster(1.05), same)
    assert ended.status == "refuted"
    assert "claimed at least 1.3×" in verdict.of(ended).found[0].sentence


def test_equal_speed_alone_does_not_support_a_claim_of_equal_quality(context: Context) -> None:
    def worse(treated: bool, seed: int) -> float:
        return same(treated, seed) + 3 * treated

    ended = play(context, stated(context), faster(1.6), worse)
    assert ended.status == "refuted"
    assert verdict.of(ended).found[1].status == "refuted"


def test_a_close_call_is_undecided_and_says_what_it_would_take(context: Context) -> None:
    def noisy(treated: bool, seed: int) -> float:
        return (1 / 1.36 if treated else 1.0) * (1 + 6 * noise(seed + 3 * treated))

    ended = play(context, stated(context, "at least 1.3x as fast"), noisy, same)
    result = verdict.of(ended)
    assert (ended.status, result.counted) == ("undecided", 6)
    assert result.needed is None or result.needed > 6
    assert "Undecided within the budget: 6 pairs counted." in result.headline


def test_no_pair_starts_after_the_hours(context: Context) -> None:
    claim = stated(context, hours=1e-7)
    driver.advance(context)
    ended = records.find(context.engine, claim.id)
    assert (ended.status, waiting(context)) == ("undecided", [])
    assert "How many are needed is estimated after 3." in verdict.of(ended).headline


def test_other_hardware_is_no_evidence(context: Context) -> None:
    claim = stated(context, pairs=3)
    for number in range(6):
        driver.advance(context)
        (run,) = waiting(context)
        other = {**HARDWARE, "host": "otherbox", "cpu": "Other CPU"}
        train(context, run, 1.0, hardware=other if number % 2 else HARDWARE)
    driver.advance(context)
    ended = records.find(context.engine, claim.id)
    assert ended.status == "invalid"
    assert "trained on other hardware (Other CPU, 2 cores) than the first run" in ended.reasons[0]
    assert verdict.of(ended).counted == 0
    assert verdict.of(ended).headline.startswith("Invalid: Pair 1: Run ")


def test_a_run_that_fails_or_is_deleted_makes_it_invalid(context: Context) -> None:
    claim = stated(context)
    driver.advance(context)
    train(context, waiting(context)[0], 1.0, status="failed")
    driver.advance(context)
    assert "failed (It broke.)" in records.find(context.engine, claim.id).reasons[0]
    for delete in (
        lambda run: trash.move(context.engine, run_id=run.id),
        lambda run: commands.delete_run(context.engine, run_id=run.id),
    ):
        claim = stated(context)
        driver.advance(context)
        delete(waiting(context)[0])
        driver.advance(context)
        assert "was deleted." in records.find(context.engine, claim.id).reasons[0]
        assert waiting(context) == []  # no pair is repeated


def test_evidence_outlives_its_runs(context: Context) -> None:
    ended = play(context, stated(context), faster(1.6), same)
    before = verdict.of(ended).table
    for run in queries.sweep_runs(context.engine, ended.id):
        commands.delete_run(context.engine, run_id=run.id)
    after = verdict.of(records.find(context.engine, ended.id))
    assert after.verdict == "supported"
    assert after.table.equals(before)


def test_what_ran_beside_is_a_caveat(context: Context) -> None:
    other = make_run(context, "beside", status="running")
    claim = play(context, stated(context, pairs=3), faster(1.6), same)
    assert other.status == "running"
    assert any(
        "1 other run trained on the same machine" in one for one in verdict.of(claim).caveats
    )


def test_without_a_metric_it_is_invalid(context: Context) -> None:
    claim = stated(context, "at least 2x as fast to fid 1")
    for _ in range(2):
        driver.advance(context)
        train(context, waiting(context)[0], 1.0)
    driver.advance(context)
    (reason,) = records.find(context.engine, claim.id).reasons
    assert "did not reach FID 1 in 2 epochs. Train longer" in reason


def test_several_processes_submit_each_run_once(anywhere: Context) -> None:
    claims = [stated(anywhere).id for _ in range(3)]
    barrier = Barrier(4)
    failures: list[BaseException] = []

    def advance() -> None:
        try:
            barrier.wait()
            driver.advance(anywhere)
        except BaseException as error:
            failures.append(error)

    threads = [Thread(target=advance) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert sorted(str(run.sweep) for run in waiting(anywhere)) == sorted(claims)


class Killed(BaseException):
    """As if the process had been killed."""


@pytest.mark.parametrize("name", ["submit.call", "evidence.pair", "records.add_evidence"])
def test_a_killed_process_is_continued_by_the_next(
    context: Context, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    claim = stated(context, pairs=4)
    kills = 0

    def killed(*_: object, **__: object) -> None:
        raise Killed

    for _ in range(40):
        with monkeypatch.context() as patch:
            patch.setattr(f"ganboard.worker.claims.driver.{name}", killed)
            try:
                driver.advance(context)
            except Killed:
                kills += 1
        driver.advance(context)
        found = records.find(context.engine, claim.id)
        if found.status != records.OPEN:
            break
        for run in waiting(context):
            seed = int(run.config["seed"])
            treated = run.config["precision"] == "mixed_bfloat16"
            train(context, run, faster(1.6)(treated, seed), same(treated, seed))
    assert kills > 2
    assert found.status == "supported"
    pairs = len(found.evidence)
    assert [pair["pair"] for pair in found.evidence] == list(range(1, pairs + 1))
    assert len(queries.sweep_runs(context.engine, claim.id)) == 2 * pairs


def test_stopping_stops_its_runs(context: Context) -> None:
    claim = stated(context)
    driver.advance(context)
    stopping.stop(context, claim)
    assert records.find(context.engine, claim.id).status == "stopped"
    assert waiting(context) == []
    assert driver.advance(context) == 0
    with pytest.raises(NotAllowed, match="has ended: it is stopped"):
        stopping.stop(context, claim)


def test_a_removed_claim_leaves_its_runs(anywhere: Context) -> None:
    claim = stated(anywhere)
    driver.advance(anywhere)
    with pytest.raises(NotAllowed, match="is open"):
        records.remove(anywhere.engine, claim.id)
    stopping.stop(anywhere, claim)
    (run,) = queries.sweep_runs(anywhere.engine, claim.id)
    records.remove(anywhere.engine, claim.id)
    assert records.listed(anywhere.engine) == []
    assert records.get(anywhere.engine, claim.id) is None
    assert records.runs(anywhere.engine, claim.id) == {}
    assert queries.get_run(anywhere.engine, run.id).status == "stopped"  # type: ignore[union-attr]
    with pytest.raises(UnknownClaim):
        records.remove(anywhere.engine, claim.id)


def test_a_claim_that_is_removed_during_a_round_stops_no_other(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, gone = stated(context), stated(context)
    listed = records.listed(context.engine)
    records.end(context.engine, gone.id, "stopped")
    records.remove(context.engine, gone.id)
    monkeypatch.setattr(records, "listed", lambda *_, **__: listed)
    assert driver.advance(context) == 1
    assert [run.sweep for run in waiting(context)] == [there.id]


def test_a_model_that_is_gone_makes_it_invalid(context: Context) -> None:
    claim = stated(context)
    with writing(context.engine) as session:
        stored = session.get_one(StatedClaim, claim.id)
        stored.treatment = {**stored.treatment, "model": "gone"}
    driver.advance(context)
    assert records.find(context.engine, claim.id).status == "invalid"
    assert queries.list_runs(context.engine) == []
