"""The search language, the narrow list it works on, and notices."""

from __future__ import annotations

import math
import time
from typing import Any

import pytest
from sqlalchemy import Engine

from ganboard.db.engine import writing
from ganboard.db.errors import BadSearch
from ganboard.db.models import Run
from ganboard.db.runs import annotations as run_annotations
from ganboard.db.runs import commands, expiry, listing, notifications, reports, search
from ganboard.gan.settings.features import FACT, LABELS, qualified
from tests.unit.db.stored_runs import (
    claimed,
    finish_epoch,
    in_status,
    quality,
    steps,
    submitted,
    training,
)

SETTINGS: dict[str, Any] = {
    "batch_size": 64, "precision": "float32", "xla": False, "limit": None, "g_learning_rate": 1e-4,
    "epochs": 30, "loss": "hinge",
}  # fmt: skip
AWKWARD = (
    "%",
    "_",
    "%%%",
    "\\",
    "';--",
    "[a-z]*",
    "é漢",
    "(",
    "/(a+)+$/",
    "/.*.*.*.*=/",
    "\0",
    "--",
    "-",
    "=cmd|'",
    "+a -b",
)


def with_id(engine: Engine, run_id: str, *, tags: tuple[str, ...] = (), **values: Any) -> None:
    config = {**SETTINGS, **values.pop("config", {})}
    with writing(engine) as session:
        session.add(Run.model_validate({"id": run_id, "name": run_id, "config": config, **values}))
    run_annotations.add_tags(engine, run_ids=[run_id], tags=tags)


def found(engine: Engine, text: str) -> set[str]:
    return {
        run.name for run in search.matching(listing.list_all(engine), search.parse(text, SETTINGS))
    }


@pytest.fixture
def zoo(engine: Engine) -> Engine:
    with_id(
        engine,
        "aaaa",
        name="paper 32",
        preset="paper",
        config={"batch_size": 32},
        tags=("baseline", "two words"),
        g_loss=0.5,
    )
    with_id(
        engine,
        "bbbb",
        name="Paper 256",
        preset="paper",
        config={"batch_size": 256, "xla": True},
        sweep="s1",
        g_loss=math.nan,
    )
    with_id(
        engine,
        "cccc",
        name="übung ÉTÉ",
        status="failed",
        note="it PAPERED over\nthe cracks",
        config={"precision": "mixed_bfloat16"},
    )
    with_id(
        engine,
        "dddd",
        name="100% real_",
        config={"limit": 1000, "g_learning_rate": 2e-4},
        sweep="s1",
        epoch=7,
        g_loss=math.inf,
    )
    return engine


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", {"paper 32", "Paper 256", "übung ÉTÉ", "100% real_"}),
        ("  PAPER ", {"paper 32", "Paper 256", "übung ÉTÉ"}),
        ("paper 32", {"paper 32"}),
        ("32 paper", {"paper 32"}),
        ('"32 paper"', set()),
        ('"paper 32"', {"paper 32"}),
        ('"THE CRACKS"', {"übung ÉTÉ"}),
        ("été", {"übung ÉTÉ"}),
        ("%", {"100% real_"}),
        ("_", {"100% real_"}),
        ("CC", {"übung ÉTÉ"}),  # the beginning of an id, and cracks has no cc
        ("ddd", {"100% real_"}),
        ("words", {"paper 32"}),
        ("-paper", {"100% real_"}),
        ("tag:Baseline", {"paper 32"}),
        ("tag:base", set()),
        ('tag:"two words"', {"paper 32"}),
        ("-tag:baseline paper", {"Paper 256", "übung ÉTÉ"}),
        ("status:Failed", {"übung ÉTÉ"}),
        ("preset:paper -batch_size>32", {"paper 32"}),
        ("sweep:s1", {"Paper 256", "100% real_"}),
        ("batch_size=64", {"übung ÉTÉ", "100% real_"}),
        ("batch_size!=64", {"paper 32", "Paper 256"}),
        ("batch_size>=64", {"Paper 256", "übung ÉTÉ", "100% real_"}),
        ("batch_size>64", {"Paper 256"}),
        ("BATCH_SIZE<=32", {"paper 32"}),
        ("batch_size<32", set()),
        ("batch_size=6.4e1", {"übung ÉTÉ", "100% real_"}),
        ("xla=on", {"Paper 256"}),
        ("xla!=true", {"paper 32", "übung ÉTÉ", "100% real_"}),
        ("precision=MIXED_bfloat16", {"übung ÉTÉ"}),
        ("limit=none", {"paper 32", "Paper 256", "übung ÉTÉ"}),
        ("limit!=none", {"100% real_"}),
        ("limit>10", {"100% real_"}),
        ("g_learning_rate=0.0002", {"100% real_"}),
        ("epoch>5", {"100% real_"}),
        ("g_loss<1", {"paper 32"}),
        ("g_loss>1", {"100% real_"}),
        ("g_loss=nan", {"Paper 256"}),
        ("g_loss=inf", {"100% real_"}),
        ("g_loss=none", {"übung ÉTÉ"}),
        ("fid<20", set()),
        ("/^paper/", {"paper 32", "Paper 256"}),
        (r"/\d+$/", {"paper 32", "Paper 256"}),
        ("-/PAPER|real/", {"übung ÉTÉ"}),
        ("/r 3/", {"paper 32"}),
        (r"/100\%/", {"100% real_"}),
    ],
)
def test_what_a_search_finds(zoo: Engine, text: str, names: set[str]) -> None:
    assert found(zoo, text) == names


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("x" * 201, "The search has 201 characters; the limit is 200."),
        ('say "hello', "Unbalanced quotation mark in '\"hello'"),
        ('a"b"', "Unbalanced quotation mark in 'a\"b\"'"),
        ("tag:", "'tag:' has no value"),
        ("batch_size>", "'batch_size>' has no value"),
        (
            "status:done",
            (
                "'done' is not a state: choose from queued, starting, running, finished, failed,"
                " stopped, suspended, pruned."
            ),
        ),
        (
            "tga:x",
            (
                "There is no filter 'tga:'. Choose from tag:, status:, preset:, sweep:, or quote"
                " the text."
            ),
        ),
        ("batchsize=3", "'batchsize' is neither a setting nor a metric: did you mean batch_size?"),
        (
            "qqq=3",
            (
                "'qqq' is neither a setting nor a metric: see the Launch page for all settings, or"
                " quote the text."
            ),
        ),
        (
            "batch_size>big",
            "batch_size is a number, but 'big' is not. Enter a number such as 0.5, 128 or 1e-4.",
        ),
        ("precision>float32", "precision is not a number, so > cannot be used. Use = or !=."),
        ("xla=maybe", "xla is true or false, not 'maybe'."),
        (
            "/abc",
            (
                "The pattern '/abc' is not closed. End it with a slash, such as /^paper/, or quote"
                " it."
            ),
        ),
        ("/(/", "The pattern /(/ is invalid (missing ): (). Fix or quote it."),
        (r"/(?=a)/", "The pattern /(?=a)/ is invalid ("),
        (r"/(a)\1/", "is invalid ("),
    ],
)
def test_a_mistake_is_one_sentence_with_its_remedy(text: str, sentence: str) -> None:
    with pytest.raises(BadSearch) as caught:
        search.parse(text, SETTINGS)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", AWKWARD)
def test_no_text_is_an_error_of_ours(zoo: Engine, text: str) -> None:
    found(zoo, text)


def test_no_pattern_hangs_the_server() -> None:
    runs = [listed(f"{'a' * 70}{number}!") for number in range(1000)]
    begin = time.perf_counter()
    for pattern in ("(a+)+$", "(a|aa)+$", "a*a*a*a*a*a*a*a*b", "(.*)*x", "((a{1,9}){1,9})+b"):
        assert search.matching(runs, search.parse(f"/{pattern}/", SETTINGS)) == []
    assert time.perf_counter() - begin < 2  # about 0.1 s; Python's own expressions would not end


def test_a_thousand_runs_are_searched_at_once() -> None:
    runs = [listed(f"run {number}", tags=("a", f"t{number % 10}")) for number in range(1000)]
    begin = time.perf_counter()
    assert (
        len(
            search.matching(
                runs, search.parse("run tag:t3 batch_size>=64 /9/ -precision=float16", SETTINGS)
            )
        )
        == 19
    )
    assert time.perf_counter() - begin < 0.5  # about 3 ms


def listed(name: str, tags: tuple[str, ...] = ()) -> listing.Listed:
    known = dict.fromkeys(listing.Listed.__dataclass_fields__)
    return listing.Listed(**{**known, "id": name, "name": name, "config": SETTINGS, "tags": tags})


# --- the list ---


def test_a_listed_run_has_its_figures_tags_and_best_fid(engine: Engine) -> None:
    own = training(engine)
    steps(engine, own, 1, 0, [0.5] * 4)
    finish_epoch(engine, own, 1, g_loss=0.25)
    for epoch, fid in enumerate((math.nan, 12.5, 11.5, 30.0), start=1):
        copied = math.nan if epoch == 1 else 1 / epoch
        quality(engine, own, epoch, training_seconds=2.0 * epoch, fid=fid, memorization=copied)
    run_annotations.add_tags(engine, run_ids=[own["run_id"]], tags=["b", "a"])
    (run,) = listing.list_all(engine)
    assert (run.id, run.status, run.epoch, run.step, run.g_loss, run.tags, run.fid) == (
        own["run_id"],
        "running",
        1,
        4,
        0.25,
        ("a", "b"),
        11.5,
    )
    assert run.config["batch_size"] == 64
    assert listing.seconds_to_fid(engine, 12.5) == {run.id: 4.0}
    assert listing.seconds_to_fid(engine, 1.0) == {}
    assert run.memorization == 0.5
    assert search.matching([run], search.parse("memorization>=0.5", SETTINGS)) == [run]
    assert search.matching([run], search.parse("memorization>0.9", SETTINGS)) == []


def test_distances_by_different_features_are_kept_apart(engine: Engine) -> None:
    """The names are those of `gan.settings.features`, which db cannot import."""
    assert {name: qualified("fid", name) for name in LABELS} == listing.DISTANCES
    runs = {}
    for name in (None, "classifier", "encoder", "inception", "unheard"):
        own = training(engine)
        quality(engine, own, 1, training_seconds=2.0, fid=10.0)
        if name is not None:
            reports.add_facts(engine, **own, values={FACT: f"{name} 3f2a9c0d11e2b7c4"})
        runs[own["run_id"]] = name
    found = {
        runs[run.id]: (run.fid, run.fid_encoder, run.fid_inception)
        for run in listing.list_all(engine)
    }
    by_classifier = (10.0, None, None)
    assert found == {
        None: by_classifier,
        "classifier": by_classifier,
        "unheard": by_classifier,
        "encoder": (None, 10.0, None),
        "inception": (None, None, 10.0),
    }
    for name, its in (
        ("classifier", {None, "classifier", "unheard"}),
        ("encoder", {"encoder"}),
        ("inception", {"inception"}),
    ):
        reached = listing.seconds_to_fid(engine, 10.0, features=name)
        assert {runs[run_id] for run_id in reached} == its
    everything = listing.list_all(engine)
    wanted = search.matching(everything, search.parse("fid_encoder<20", SETTINGS))
    assert [runs[run.id] for run in wanted] == ["encoder"]
    assert len(search.matching(everything, search.parse("fid<20", SETTINGS))) == 3


def test_the_list_is_newest_first_with_archived_ones(engine: Engine) -> None:
    run_ids = [in_status(engine, "finished") for _ in range(3)]
    run_annotations.archive(engine, run_ids=run_ids[1:2])
    assert [(run.id, run.archived_at is not None) for run in listing.list_all(engine)] == [
        (run_ids[2], False), (run_ids[1], True), (run_ids[0], False),
    ]  # fmt: skip


# --- notices ---


def test_notices_are_warnings_errors_and_ends(engine: Engine) -> None:
    assert (notifications.newest_event(engine), notifications.notices(engine)) == (0, [])
    own = training(engine, submitted(engine, "one"))
    before = notifications.newest_event(engine)
    reports.add_event(engine, **own, level="warning", text="Slow.")
    reports.add_event(engine, **own, level="info", text="By the way.")
    commands.finish(engine, **own, status="finished")
    other = claimed(engine, submitted(engine, "two"))
    commands.finish(engine, **other, status="failed", error="It broke.")
    found = notifications.notices(engine)
    assert [(n.name, n.level, n.text, n.finished, n.status) for n in found] == [
        ("two", "error", "It broke.", False, "failed"),
        ("one", "info", "Finished.", True, "finished"),
        ("one", "warning", "Slow.", False, "finished"),
    ]
    assert before < found[-1].id < found[0].id == notifications.newest_event(engine)
    assert len(notifications.notices(engine, limit=1)) == 1


def test_the_end_after_too_many_deaths_is_an_error(engine: Engine) -> None:
    run_id = submitted(engine)
    for _ in range(commands.MAX_FAILURES):
        expiry.died(engine, **claimed(engine, run_id), cause="It was killed")
    assert [notice.level for notice in notifications.notices(engine)] == ["error", *["warning"] * 4]


def test_named_runs_are_listed_alone(engine: Engine) -> None:
    first, second, third = (submitted(engine, name) for name in ("first", "second", "third"))
    named = listing.list_all(engine, run_ids=[first, third, "unknown"])
    assert [run.id for run in named] == [third, first]
    assert listing.list_all(engine, run_ids=[second], statuses=("running",)) == []
    assert listing.list_all(engine, run_ids=[]) == []
