from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sqlalchemy import Engine, inspect
from sqlalchemy.exc import IntegrityError, StatementError
from sqlmodel import SQLModel

from ganboard.db.engine import TRASH_TOO, reading, writing
from ganboard.db.models import (  # fmt: skip
    AlertChannel,
    AlertDelivery,
    AlertRule,
    AlertSecret,
    ApiToken,
    Artifact,
    AuditEntry,
    BrokenLink,
    Calibration,
    Checkpoint,
    ClaimRun,
    Draining,
    Epoch,
    Event,
    Grid,
    LoggedHistogram,
    LoggedValues,
    Member,
    Metric,
    ModelAlias,
    ModelVersion,
    Quality,
    Rehearsal,
    Request,
    Run,
    SavedBoard,
    SavedView,
    SchedulerJob,
    Search,
    SearchTrial,
    StatedClaim,
    StepLosses,
    StepSeries,
    Study,
    StudyRun,
    SystemSample,
    Tag,
    UsageSample,
    Worker,
)
from ganboard.db.runs import queries
from tests.unit.db.stored_runs import quality, submitted, training

MOMENT = datetime(2026, 2, 28, 23, 59, 59, 123456, tzinfo=UTC)
quick = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def bits(value: float) -> str:
    return value.hex()


def full_rows() -> list[SQLModel]:
    """One row of every table with a value in every column."""
    config = {
        "text": "ünïcode 漢字 👩‍👩‍👧‍👦 \" ' \\ \n %_",
        "none": None,
        "deep": {"list": [1, 2.5, True, []]},
        "long": 2**53 - 1,
        "tenth": 0.1,
    }
    moments: dict[str, Any] = dict.fromkeys(
        ("created_at", "queued_at", "started_at", "ended_at", "lease_until"), MOMENT
    )
    run = Run(
        id="abcdefghjk", name="naïve 漢字", status="failed", config=config, preset="paper",
        parent_id="bbbbbbbbbb", **moments, attempt=3, worker="w", stop_requested_at=MOMENT,
        failures=2, error="It broke.", phase="training", phase_since=MOMENT,
        phase_progress="decoding 40 %",
        progress_at=MOMENT,
        hardware={"host": "box", "devices": [{"name": "GPU:0"}]}, examples=60_000,
        steps_per_epoch=937, g_parameters=2_330_944, d_parameters=212_865, epoch=3, step=2811,
        seconds=12.25, g_loss=math.nan, d_loss=-0.0, images_per_second=math.inf,
        facts={"form": "fused", "off_accelerator": ["Gather"], "largest_batch": 4096},
        sweep="cccccccccc", number=41, note="ünïcode\n 漢字", note_version=2, archived_at=MOMENT,
        deleted_at=MOMENT,
        pruned_at=MOMENT,
    )  # fmt: skip
    own: dict[str, Any] = {"run_id": run.id, "attempt": 3}
    losses = np.array([math.nan, -math.inf, -0.0, 1e-45, 3.4028235e38, 0.1], dtype=np.float32)
    return [
        run,
        Epoch(
            **own,
            epoch=1,
            finished_at=MOMENT,
            steps=6,
            images=384,
            g_loss=math.nan,
            d_loss=math.inf,
            seconds=1e-3,
            compile_seconds=0.0,
            g_x=-0.0,
            g_y=5e-324,
            d_x=-math.inf,
            d_y=1 / 3,
            measures={"input_seconds": 0.1, "overflows": 3.0},
        ),
        StepLosses(**own, epoch=1, g_losses=losses, d_losses=-losses),
        StepSeries(**own, epoch=1, name="g_rate", values=losses[::-1]),
        Quality(
            **own,
            epoch=1,
            made_at=MOMENT,
            seconds=0.5,
            training_seconds=12.25,
            preparation_seconds=7.5,
            histogram=losses,
        ),
        Metric(run_id=run.id, epoch=1, name="naïve 漢字", value=math.nan),
        Grid(**own, epoch=0, made_at=MOMENT, rows=4, columns=5, png=bytes(range(256))),
        Checkpoint(
            **own,
            step=2811,
            epoch=3,
            digest="0" * 64,
            size=1 << 40,
            saved_at=MOMENT,
            machine="box-ab12cd34",
        ),
        Event(**own, id=7, at=MOMENT, level="warning", text="so it goes"),
        UsageSample(
            **own,
            at=MOMENT,
            name="GPU 0",
            pid=7,
            cpu_percent=150.0,
            rss_bytes=1e9,
            gpu_percent=30.0,
            gpu_memory_bytes=2e9,
            watts=70.5,
            note="a reason",
        ),
        SystemSample(
            **own,
            at=MOMENT,
            cpu_percent=99.9,
            rss_bytes=1e12,
            memory_percent=0.1,
            gpu_percent=50.0,
            gpu_memory_bytes=8e10,
        ),
        Tag(run_id=run.id, tag="ünïcode"),
        SavedBoard(owner="a@b.c", name="mine", panels=[{"y": "g_loss"}], saved_at=MOMENT),
        SavedView(name="mine", page="compare", query="runs=a,b&log=true", saved_at=MOMENT),
        Request(
            id="uuuuuuuuuu",
            kind="surface",
            run_id=run.id,
            others=["bbbbbbbbbb"],
            step=2811,
            options={"size": 21},
            asked_at=MOMENT,
            claimed_at=MOMENT,
            heartbeat_at=MOMENT,
            answered_at=MOMENT,
            tries=2,
            phase="computing",
            progress=0.5,
            error="It broke.",
            result=bytes(range(256)),
            facts={"seconds": 0.1},
        ),
        Study(
            id="sssssssss", name="mine.py", title="naïve 漢字", definition=config, created_at=MOMENT
        ),
        StudyRun(study_id="sssssssss", part="batches", run_id=run.id),
        Search(
            id="sssssssss",
            name="rates",
            preset="tiny",
            owner="ada@example.org",
            settings={"epochs": 2},
            space={"g_learning_rate": {"low": 1e-5, "high": 1e-3, "log": True}},
            objective={"metric": "fid"},
            sampler="tpe",
            pruner="halving",
            seed=3,
            runs=8,
            hours=0.1,
            parallel=2,
            state="stopped",
            message="Stopped.",
            importance={"g_learning_rate": 1.0},
            created_at=MOMENT,
            ended_at=MOMENT,
        ),
        SearchTrial(
            search_id="sssssssss",
            number=0,
            run_id=run.id,
            params={"g_learning_rate": 1e-4},
            problem="none",
            seen_epoch=1,
            pruned_epoch=1,
            created_at=MOMENT,
        ),
        StatedClaim(
            id="ccccccccc",
            owner="ada@example.org",
            statement="equal fid (margin 0.5)",
            treatment=config,
            control=config,
            given={"names": {"control": "naïve 漢字"}},
            seed=3,
            pairs=8,
            hours=1.5,
            confidence=0.95,
            power=0.8,
            status="invalid",
            reasons=["It broke."],
            evidence=[{"pair": 1, "values": {"fid": [0.1, 5e-324]}}],
            machine={"host": "box"},
            created_at=MOMENT,
            ended_at=MOMENT,
        ),
        ClaimRun(claim_id="ccccccccc", pair=1, arm="control", run_id=run.id),
        ModelVersion(
            id="vvvvvvvvvv",
            name="digits",
            version=2,
            model="dcgan",
            variant="int8",
            parent_id="ppppppppp",
            run_id=run.id,
            attempt=3,
            epoch=3,
            step=2811,
            digest="0" * 64,
            size=1 << 40,
            quality={"fid": 1.5},
            created_at=MOMENT,
            removed_at=MOMENT,
        ),
        ModelAlias(name="digits", alias="production", version_id="vvvvvvvvvv"),
        Rehearsal(key="0" * 32, target="v5e-8", stored_at=MOMENT, report={"step_seconds": 0.25}),
        Calibration(
            machine="box-ab12cd34",
            target="v5e-8",
            key="0" * 32,
            family="v5e",
            model="dcgan",
            precision="float32",
            device="8 TPU cores",
            measured_seconds=0.1,
            estimated_seconds=0.3,
            measured_at=MOMENT,
            imported_at=MOMENT,
            facts={"batch_size": 512},
        ),
        LoggedValues(
            run_id=run.id,
            name="accuracy",
            block=0,
            steps=np.array([1.0, 2.0]),
            times=np.array([1.5e9, 1.5e9]),
            values=np.array([0.5, np.nan]),
        ),
        LoggedHistogram(
            run_id=run.id,
            name="weights",
            step=7,
            time=1.5e9,
            edges=np.array([-1.0, -0.0, 5e-324]),
            counts=np.array([3.0, 4.0]),
        ),
        ApiToken(
            id="tttttttttt",
            name="nightly 漢字",
            owner="olga@lab.example",
            scope="write",
            digest="ab" * 32,
            created_at=MOMENT,
            expires_at=MOMENT,
            revoked_at=MOMENT,
            used_at=MOMENT,
        ),
        AuditEntry(
            id=7,
            at=MOMENT,
            who="ünï@lab.example",
            token_id="tttttttttt",
            action="POST /runs",
            status=201,
        ),
        Worker(
            name="w",
            kind="inference",
            host="box",
            pid=4242,
            started_at=MOMENT,
            heartbeat_at=MOMENT,
            run_id=run.id,
            devices={"gpus": []},
            machine="box-ab12cd34",
            boot="6f2c",
            labels=["lab", "ünï"],
            address="10.0.0.7",
        ),
        Member(
            run_id=run.id,
            index=1,
            attempt=2,
            worker="box-ab12cd34:1",
            machine="box-ab12cd34",
            host="box",
            address="10.0.0.7",
            ports=[20000, 20001],
            lease_until=MOMENT,
            leaving=True,
            ended=True,
            failure="Rank 1 was killed",
            final=True,
        ),
        BrokenLink(source="10.0.0.7", target="10.0.0.8", until=MOMENT),
        SchedulerJob(
            run_id=run.id,
            scheduler="slurm",
            job_id="17",
            state="PENDING",
            reason="Resources",
            ended=True,
            attempt=2,
            failures=1,
            submitted_at=MOMENT,
        ),
        Artifact(
            run_id=run.id,
            name="checkpoints/ckpt-12-1",
            digest="d" * 64,
            size=2**40,
            step=12,
            attempt=1,
            epoch=3,
            stored_at=MOMENT,
        ),
        Draining(machine="box-ab12cd34", since=MOMENT),
        AlertChannel(
            id="channel",
            name="lab",
            kind="email",
            masked="mail.example:587, to 1 at lab.example",
            options={"host": "mail.example"},
            enabled=False,
            paused_until=MOMENT,
            created_at=MOMENT,
        ),
        AlertSecret(channel_id="channel", value="password"),
        AlertRule(
            id="rule",
            channel_id="channel",
            event="metric",
            condition="fid<5",
            minutes=30,
            search="tag:x",
            enabled=False,
            created_at=MOMENT,
            since=MOMENT,
            since_event=3,
            seen_event=4,
        ),
        AlertDelivery(
            id="delivery",
            channel_id="channel",
            rule_id="rule",
            run_id=run.id,
            occurrence="fid<5",
            message={"name": run.name},
            state="sent",
            tries=2,
            created_at=MOMENT,
            next_try_at=MOMENT,
            claimed_until=MOMENT,
            tried_at=MOMENT,
            sent_at=MOMENT,
            error="No answer.",
        ),
    ]


def same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.tobytes() == b.tobytes()
    return bits(a) == bits(b) if isinstance(a, float) else bool(a == b) and type(a) is type(b)


def test_every_column_of_every_table_comes_back(engine: Engine) -> None:
    tables = {table.name for table in SQLModel.metadata.sorted_tables}
    assert {type(row).__tablename__ for row in full_rows()} == tables
    with writing(engine) as session:
        for row in full_rows():
            session.add(row)
            session.flush()
    for row in full_rows():
        key = inspect(type(row)).primary_key_from_instance(row)
        with reading(engine) as session:
            found = session.get(type(row), tuple(key), execution_options=TRASH_TOO)
        for name in type(row).model_fields:
            expected = getattr(row, name)
            assert expected is not None, f"{name} of {type(row).__name__} is not tested"
            assert same(getattr(found, name), expected), name


@quick
@given(values=st.lists(st.floats(), min_size=6, max_size=6))
@example(values=[math.nan, math.inf, -math.inf, -0.0, 0.0, 5e-324])
@example(
    values=[2.2250738585072014e-308, 1.7976931348623157e308, 0.1, 1 / 3, 2.0**53, np.float64(-1.0)]
)
def test_any_float64_keeps_its_bits(engine: Engine, values: list[float]) -> None:
    names = ("g_loss", "d_loss", "g_x", "g_y", "d_x", "d_y")
    run_id = submitted(engine)
    with writing(engine) as session:
        figures = dict(zip(names, values, strict=True))
        session.add(
            Epoch(
                run_id=run_id,
                epoch=1,
                attempt=1,
                steps=1,
                images=1,
                seconds=1.0,
                compile_seconds=0.0,
                **figures,
            )
        )
    with reading(engine) as session:
        found = session.get_one(Epoch, (run_id, 1))
    assert {type(getattr(found, name)) for name in names} == {float}
    assert [bits(getattr(found, name)) for name in names] == [bits(value) for value in values]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -0.0, 5e-324, 0.1])
def test_a_metric_keeps_its_bits(engine: Engine, value: float) -> None:
    own = training(engine)
    quality(engine, own, 1, fid=value)
    [found] = queries.qualities(engine, own["run_id"])
    assert bits(found.measures["fid"]) == bits(value)


def test_sqlite_stores_the_key_of_a_metric_once(engine: Engine) -> None:
    if engine.dialect.name == "sqlite":
        with engine.connect() as connection:
            table = connection.exec_driver_sql(
                "SELECT sql FROM sqlite_schema WHERE name = 'metric'"
            ).scalar_one()
        assert table.rstrip().endswith("WITHOUT ROWID")


@quick
@given(raw=hnp.arrays(np.uint32, st.integers(0, 50)))
def test_any_float32_keeps_its_bits_even_those_of_a_nan(
    engine: Engine, raw: np.ndarray[Any, Any]
) -> None:
    losses, run_id = raw.view(np.float32), submitted(engine)
    with writing(engine) as session:
        session.add(
            StepLosses(run_id=run_id, epoch=1, attempt=1, g_losses=losses, d_losses=losses[::-1])
        )
    with reading(engine) as session:
        found = session.get_one(StepLosses, (run_id, 1))
    assert found.g_losses.dtype == np.float32
    assert found.g_losses.tobytes() == losses.tobytes()
    assert found.d_losses.tobytes() == losses[::-1].tobytes()


@quick
@given(text=st.text(st.characters(), max_size=60))
@example(text="a\0b\udcff\ud83dc")
def test_any_text_can_be_stored(engine: Engine, text: str) -> None:
    """Of the messages of other programs, too: only NUL and lone surrogates, which no database
    takes, are replaced."""
    run_id = submitted(engine, name=text)
    with reading(engine) as session:
        found = session.get_one(Run, run_id).name
    storable = [c != "\0" and not "\ud800" <= c <= "\udfff" for c in text]
    assert len(found) == len(text)
    assert [c for c, kept in zip(found, storable, strict=True) if kept] == [
        c for c, kept in zip(text, storable, strict=True) if kept
    ]
    assert "\0" not in found


@quick
@given(
    config=st.dictionaries(
        st.text("abcü漢", max_size=8),
        st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text("xyzé'\"\\", max_size=9),
    )
)
def test_any_configuration_comes_back(engine: Engine, config: dict[str, Any]) -> None:
    run_id = submitted(engine)
    with writing(engine) as session:
        session.get_one(Run, run_id).config = config
    with reading(engine) as session:
        assert session.get_one(Run, run_id).config == config


def test_times_come_back_aware_and_in_utc(engine: Engine) -> None:
    elsewhere = datetime(2026, 3, 29, 3, 30, tzinfo=timezone(timedelta(hours=5, minutes=45)))
    run_id = submitted(engine)
    with writing(engine) as session:
        session.get_one(Run, run_id).ended_at = elsewhere
    with reading(engine) as session:
        run = session.get_one(Run, run_id)
    assert run.ended_at == elsewhere
    assert run.ended_at is not None
    assert run.ended_at.tzinfo is UTC
    assert {run.created_at.tzinfo, run.queued_at.tzinfo} == {UTC}


def test_a_time_without_zone_is_refused(engine: Engine) -> None:
    run_id = submitted(engine)
    with pytest.raises(StatementError, match="timezone"), writing(engine) as session:
        session.get_one(Run, run_id).ended_at = datetime(2026, 1, 1)  # noqa: DTZ001


def test_a_status_outside_the_seven_is_refused(engine: Engine) -> None:
    run_id = submitted(engine)
    with pytest.raises(IntegrityError), writing(engine) as session:
        session.get_one(Run, run_id).status = "paused"


def test_a_row_without_its_run_is_refused(engine: Engine) -> None:
    with pytest.raises(IntegrityError), writing(engine) as session:
        session.add(Event(run_id="nobody", attempt=1, level="info", text="lost"))
