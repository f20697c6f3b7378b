"""The tables. Rows below a run carry the attempt that wrote them; natural keys make every repeated
write harmless."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    LargeBinary,
    MetaData,
    UniqueConstraint,
    text,
)
from sqlalchemy.orm import relationship
from sqlmodel import Field, Relationship, SQLModel

from ganboard.db.ids import new_id
from ganboard.db.types import Float32Array, Float32s, Float64Array, Float64s, Json, Real, Text

STATUSES = ("queued", "starting", "running", "finished", "failed", "stopped", "suspended")
ACTIVE = ("starting", "running")  # has, or should have, a live lease
WAITING = ("queued", "suspended")  # resumes automatically when a worker is free
ENDED = ("finished", "failed", "stopped")
# how a run is shown that a search has stopped
PRUNED = "pruned"
SHOWN = (*STATUSES, PRUNED)
# the placement of runs that ganboard's own workers start
WORKERS = "workers"
# kinds of workers
TRAINING = "training"
INFERENCE = "inference"  # answers requests
ALERTS = "alerts"  # sends alerts
CLAIMS = "claims"  # runs the pairs of claims
NODE = "node"  # a task of a scheduler's job
SEARCHES = "searches"  # submits and prunes the runs of searches

SQLModel.metadata.naming_convention = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
).naming_convention


def utc_now() -> datetime:
    return datetime.now(UTC)


def _mapping() -> Any:
    return Field(default_factory=dict, sa_type=Json, sa_column_kwargs={"server_default": "{}"})


def _of_run(**options: Any) -> Any:
    return Field(sa_column_args=[ForeignKey("run.id", ondelete="CASCADE")], **options)


def shown_status(status: str, pruned_at: datetime | None) -> str:
    """One of SHOWN."""
    return PRUNED if status == "stopped" and pruned_at is not None else status


class Run(SQLModel, table=True):
    """One training run, its place in the state machine, and its latest metrics."""

    __tablename__ = "run"
    __table_args__ = (
        CheckConstraint(
            "status IN ({})".format(", ".join(f"'{s}'" for s in STATUSES)), name="status"
        ),
        Index("ix_run_created_at", "created_at"),
        # all that `db.runs.listing.ended_version` counts at every live tick: it reads no row
        Index("ix_run_status", "status", "deleted_at", "archived_at", "note_version", "attempt"),
        Index("ix_run_sweep", "sweep"),
        # partial: the runs outside the trash must not be looked up through it
        Index(
            "ix_run_deleted_at",
            "deleted_at",
            sqlite_where=text("deleted_at IS NOT NULL"),
            postgresql_where=text("deleted_at IS NOT NULL"),
        ),
    )

    id: str = Field(default_factory=new_id, primary_key=True, sa_type=Text)
    name: str = Field(sa_type=Text)
    status: str = "queued"
    config: dict[str, Any] = Field(sa_type=Json)
    preset: str = ""
    parent_id: str | None = None  # cloned from
    sweep: str | None = None  # the id that all runs of one grid or search share
    # counts runs as they are created; gives each its colour
    number: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    note: str | None = Field(default=None, sa_type=Text)
    # so that no note is overwritten unseen
    note_version: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    archived_at: datetime | None = None  # out of the usual lists, nothing else
    deleted_at: datetime | None = None  # into the trash, see `db.runs.trash`
    created_at: datetime = Field(default_factory=utc_now)
    queued_at: datetime = Field(default_factory=utc_now)
    started_at: datetime | None = None
    ended_at: datetime | None = None
    # who starts it: WORKERS, slurm or kubernetes
    placement: str = Field(default=WORKERS, sa_column_kwargs={"server_default": WORKERS})
    # place in the queue, see `db.placement.backlog`
    owner: str = Field(default="", sa_type=Text, sa_column_kwargs={"server_default": text("''")})
    priority: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    # ownership
    attempt: int = 0
    worker: str | None = None
    lease_until: datetime | None = None
    stop_requested_at: datetime | None = None
    pruned_at: datetime | None = None  # when a search requested the stop
    failures: int = 0  # deaths without an epoch finished in between; bounds automatic restarts
    error: str | None = Field(default=None, sa_type=Text)
    # latest metrics, so that lists need no join
    phase: str | None = None
    phase_since: datetime | None = None
    phase_progress: str | None = Field(default=None, sa_type=Text)  # where the phase reports it
    progress_at: datetime | None = None  # of the latest step, phase or progress of a phase
    hardware: dict[str, Any] | None = Field(default=None, sa_type=Json)
    examples: int | None = None
    steps_per_epoch: int | None = None
    g_parameters: int | None = None
    d_parameters: int | None = None
    epoch: int = 0  # finished epochs
    step: int = 0  # finished steps
    seconds: float = Field(default=0.0, sa_type=Real)  # training time so far, compiling left out
    g_loss: float | None = Field(default=None, sa_type=Real)
    d_loss: float | None = Field(default=None, sa_type=Real)
    images_per_second: float | None = Field(default=None, sa_type=Real)
    facts: dict[str, Any] = _mapping()  # what the trainer found out that holds for the whole run
    # a script of a person's own trains it: no worker can, and `config` is whatever the script gave
    external: bool = Field(default=False, sa_column_kwargs={"server_default": text("false")})
    # reports of that script stored so far, so that a repeated one is harmless
    reports: int = Field(default=0, sa_column_kwargs={"server_default": "0"})

    @property
    def shown_status(self) -> str:
        """One of SHOWN: the status, or that a search has stopped the run."""
        return shown_status(self.status, self.pruned_at)


class Tag(SQLModel, table=True):
    """A tag of a run."""

    __tablename__ = "tag"

    run_id: str = _of_run(primary_key=True)
    tag: str = Field(primary_key=True, sa_type=Text)


class SavedView(SQLModel, table=True):
    """A saved view: the address of a page without the host, under a name."""

    __tablename__ = "saved_view"

    name: str = Field(primary_key=True, sa_type=Text)
    page: str  # the page's url_path
    query: str = Field(sa_type=Text)  # of the URL, without "?"
    saved_at: datetime = Field(default_factory=utc_now)


class SavedBoard(SQLModel, table=True):
    """Panels that somebody arranged, under a name."""

    __tablename__ = "saved_board"

    # e-mail address; empty: saved while nobody signed in, of everybody
    owner: str = Field(primary_key=True, sa_type=Text)
    name: str = Field(primary_key=True, sa_type=Text)
    panels: list[dict[str, Any]] = Field(sa_type=Json)  # see `worker.panels.board`
    saved_at: datetime = Field(default_factory=utc_now)


class Study(SQLModel, table=True):
    """Grids of runs that answer a question together, and what was asked."""

    __tablename__ = "study"

    id: str = Field(default_factory=new_id, primary_key=True, sa_type=Text)
    name: str = Field(sa_type=Text)  # of a built-in study, or of a file's
    title: str = Field(sa_type=Text)
    definition: dict[str, Any] = Field(sa_type=Json)  # purpose, settings, parts, seeds, figures
    created_at: datetime = Field(default_factory=utc_now)


class StudyRun(SQLModel, table=True):
    """A run that a part of a study counts; one may serve several parts, and several studies."""

    __tablename__ = "study_run"

    study_id: str = Field(
        primary_key=True, sa_column_args=[ForeignKey("study.id", ondelete="CASCADE")]
    )
    part: str = Field(primary_key=True, sa_type=Text)
    run_id: str = _of_run(primary_key=True)


CLAIM_STATES = ("open", "supported", "refuted", "undecided", "invalid", "stopped")


class StatedClaim(SQLModel, table=True):
    """A statement about two configurations, what it may cost to test it, and what was found."""

    __tablename__ = "stated_claim"
    __table_args__ = (
        CheckConstraint(
            "status IN ({})".format(", ".join(f"'{s}'" for s in CLAIM_STATES)), name="status"
        ),
    )

    id: str = Field(default_factory=new_id, primary_key=True, sa_type=Text)
    owner: str = Field(default="", sa_type=Text, sa_column_kwargs={"server_default": text("''")})
    statement: str = Field(sa_type=Text)  # of the grammar of `worker.claims.statement`
    treatment: dict[str, Any] = Field(sa_type=Json)  # configuration, with the first seed
    control: dict[str, Any] = Field(sa_type=Json)
    given: dict[str, Any] = _mapping()  # preset, settings and names, as they were typed
    seed: int  # of the first pair; the others count up
    pairs: int  # at most
    # no pair starts later than this after `created_at`
    hours: float | None = Field(default=None, sa_type=Real)
    confidence: float = Field(sa_type=Real)
    power: float = Field(sa_type=Real)
    status: str = "open"
    reasons: list[str] = Field(default_factory=list, sa_type=Json)  # of an invalid one
    # of each pair that has ended, in order: runs, values, why it does not count
    evidence: list[dict[str, Any]] = Field(default_factory=list, sa_type=Json)
    machine: dict[str, Any] | None = Field(default=None, sa_type=Json)  # of the first run
    created_at: datetime = Field(default_factory=utc_now)
    ended_at: datetime | None = None


class ClaimRun(SQLModel, table=True):
    """A run of a claim. The key lets only one process submit it; the row stays when the run is
    deleted, so that no pair is repeated."""

    __tablename__ = "claim_run"
    __table_args__ = (Index("ix_claim_run_run_id", "run_id"),)

    claim_id: str = Field(
        primary_key=True, sa_column_args=[ForeignKey("stated_claim.id", ondelete="CASCADE")]
    )
    pair: int = Field(primary_key=True)  # from 1
    arm: str = Field(primary_key=True)  # treatment or control
    run_id: str = Field(sa_type=Text)


class Search(SQLModel, table=True):
    """A search over settings: what is sought, within which budget. Its id is the `sweep` of its
    runs."""

    __tablename__ = "search"
    __table_args__ = (Index("ix_search_state", "state"),)

    id: str = Field(default_factory=new_id, primary_key=True, sa_type=Text)
    name: str = Field(sa_type=Text)
    preset: str = ""
    owner: str = Field(default="", sa_type=Text, sa_column_kwargs={"server_default": text("''")})
    settings: dict[str, Any] = Field(sa_type=Json)  # that all of its runs share
    # by setting, in the order in which they are drawn: see `worker.searches.space`
    space: dict[str, Any] = Field(sa_type=Json)
    objective: dict[str, Any] = Field(sa_type=Json)  # see `worker.searches.objective`
    sampler: str
    pruner: str
    seed: int
    # the budget
    runs: int
    hours: float | None = Field(default=None, sa_type=Real)  # of training; None: no limit
    parallel: int  # runs at the same time
    state: str = "running"  # one of `db.searches.searches.STATES`
    message: str | None = Field(default=None, sa_type=Text)  # why it has ended, or cannot go on
    # share of the variation of results that each setting explains, by Optuna's fANOVA; with the
    # number of trials that they come from as "trials"
    importance: dict[str, Any] = _mapping()
    created_at: datetime = Field(default_factory=utc_now)
    ended_at: datetime | None = None


class SearchTrial(SQLModel, table=True):
    """One combination that a search has tried, from 0 in order."""

    __tablename__ = "search_trial"
    __table_args__ = (Index("ix_search_trial_run_id", "run_id"),)

    search_id: str = Field(
        primary_key=True, sa_type=Text, sa_column_args=[ForeignKey("search.id", ondelete="CASCADE")]
    )
    number: int = Field(primary_key=True)
    # None: it cannot run, or the run was removed
    run_id: str | None = Field(
        default=None, sa_column_args=[ForeignKey("run.id", ondelete="SET NULL")]
    )
    params: dict[str, Any] = Field(sa_type=Json)  # by setting
    problem: str | None = Field(default=None, sa_type=Text)  # why it cannot run
    seen_epoch: int = 0  # up to which the pruner has looked at evaluations
    pruned_epoch: int | None = None  # with whose evaluation it was pruned
    created_at: datetime = Field(default_factory=utc_now)


class Request(SQLModel, table=True):
    """Something that was asked of stored runs, and the answer."""

    __tablename__ = "request"
    __table_args__ = (
        Index("ix_request_run_id", "run_id"),
        Index("ix_request_answered_at", "answered_at", "asked_at"),
    )

    id: str = Field(default_factory=new_id, primary_key=True, sa_type=Text)
    # one that `db.requests` names, or a kind of image request
    kind: str = Field(sa_type=Text)
    run_id: str = _of_run()
    others: list[str] = Field(default_factory=list, sa_type=Json)  # further runs on a surface
    step: int | None = None  # of the checkpoint; None: the newest
    options: dict[str, Any] = _mapping()
    asked_at: datetime = Field(default_factory=utc_now)
    claimed_at: datetime | None = None
    heartbeat_at: datetime | None = None  # of the process that claimed it
    answered_at: datetime | None = None
    tries: int = 0  # claims so far
    phase: str = ""
    progress: float = 0.0  # 0 to 1
    error: str | None = Field(default=None, sa_type=Text)
    # a PNG; of a surface the arrays of `gan.landscape.geometry`
    result: bytes | None = Field(default=None, sa_type=LargeBinary)
    facts: dict[str, Any] = _mapping()  # of the answer


class Rehearsal(SQLModel, table=True):
    """What compiling a training step for a device that is not here found; of every run whose
    settings have this key."""

    __tablename__ = "rehearsal"

    key: str = Field(primary_key=True, sa_type=Text)  # `gan.rehearsal.report.key`
    target: str = Field(primary_key=True, sa_type=Text)
    stored_at: datetime = Field(default_factory=utc_now)
    report: dict[str, Any] = Field(sa_type=Json)


class Calibration(SQLModel, table=True):
    """How long a training step took on a device that rehearsals estimate it for."""

    __tablename__ = "calibration"
    __table_args__ = (Index("ix_calibration_family", "family", "model", "precision"),)

    machine: str = Field(primary_key=True, sa_type=Text)  # that measured, by its name
    target: str = Field(primary_key=True, sa_type=Text)  # as of a rehearsal, or `cpu`
    key: str = Field(primary_key=True, sa_type=Text)  # `gan.rehearsal.report.key`
    family: str  # of the target
    model: str
    precision: str
    device: str = Field(sa_type=Text)  # its own name
    measured_seconds: float = Field(sa_type=Real)  # of a step
    # of the rehearsal at that time; None where there was none
    estimated_seconds: float | None = Field(default=None, sa_type=Real)
    measured_at: datetime
    imported_at: datetime | None = None
    facts: dict[str, Any] = _mapping()  # batch, replicas, memory, versions


class Epoch(SQLModel, table=True):
    """What one finished epoch (from 1) cost and reached."""

    __tablename__ = "epoch"

    run_id: str = _of_run(primary_key=True)
    epoch: int = Field(primary_key=True)
    attempt: int
    finished_at: datetime = Field(default_factory=utc_now)
    steps: int
    images: int
    g_loss: float = Field(sa_type=Real)
    d_loss: float = Field(sa_type=Real)
    seconds: float = Field(sa_type=Real)
    compile_seconds: float = Field(sa_type=Real)
    g_x: float = Field(sa_type=Real)
    g_y: float = Field(sa_type=Real)
    d_x: float = Field(sa_type=Real)
    d_y: float = Field(sa_type=Real)
    # where the time went, and the like; what was not measured is absent
    measures: dict[str, float] = _mapping()


class StepLosses(SQLModel, table=True):
    """The losses of every step of one epoch, packed: exact values in one row."""

    __tablename__ = "step_losses"

    model_config = {"arbitrary_types_allowed": True}

    run_id: str = _of_run(primary_key=True)
    epoch: int = Field(primary_key=True)
    attempt: int
    g_losses: Float32s = Field(sa_type=Float32Array)
    d_losses: Float32s = Field(sa_type=Float32Array)


class StepSeries(SQLModel, table=True):
    """Further values of every step of one epoch, such as learning rates, packed like the losses."""

    __tablename__ = "step_series"

    model_config = {"arbitrary_types_allowed": True}

    run_id: str = _of_run(primary_key=True)
    epoch: int = Field(primary_key=True)
    name: str = Field(primary_key=True)
    attempt: int
    values: Float32s = Field(sa_type=Float32Array)


class LoggedValues(SQLModel, table=True):
    """What a script logged of one metric in the steps of one block, ascending by step and packed:
    scripts log any names, at any steps."""

    __tablename__ = "logged_values"

    model_config = {"arbitrary_types_allowed": True}

    run_id: str = _of_run(primary_key=True)
    name: str = Field(primary_key=True, sa_type=Text)
    block: int = Field(primary_key=True)  # step // `db.runs.external.BLOCK`
    steps: Float64s = Field(sa_type=Float64Array)  # whole numbers
    times: Float64s = Field(sa_type=Float64Array)  # seconds since 1970
    values: Float64s = Field(sa_type=Float64Array)


class LoggedHistogram(SQLModel, table=True):
    """How values of one name, such as the weights of a layer, were spread at one step of a script:
    bins [n] between edges [n + 1]."""

    __tablename__ = "logged_histogram"

    model_config = {"arbitrary_types_allowed": True}

    run_id: str = _of_run(primary_key=True)
    name: str = Field(primary_key=True, sa_type=Text)
    step: int = Field(primary_key=True)
    time: float = Field(sa_type=Real)  # seconds since 1970
    edges: Float64s = Field(sa_type=Float64Array)  # ascending
    counts: Float64s = Field(sa_type=Float64Array)


class Metric(SQLModel, table=True):
    """One metric of an evaluation; the models of `gan` declare which there are."""

    __tablename__ = "metric"
    __table_args__ = (
        ForeignKeyConstraint(
            ["run_id", "epoch"], ["quality.run_id", "quality.epoch"], ondelete="CASCADE"
        ),
        {"sqlite_with_rowid": False},  # so that the key is not stored twice
    )

    run_id: str = Field(primary_key=True)
    epoch: int = Field(primary_key=True)
    name: str = Field(primary_key=True, sa_type=Text)
    value: float = Field(sa_type=Real)


class Quality(SQLModel, table=True):
    """How good generated images were after an epoch."""

    __tablename__ = "quality"

    model_config = {"arbitrary_types_allowed": True}

    run_id: str = _of_run(primary_key=True)
    epoch: int = Field(primary_key=True)
    attempt: int
    made_at: datetime = Field(default_factory=utc_now)
    seconds: float = Field(sa_type=Real)  # what the evaluation took
    # what preparing it took beside that, once per attempt; None in rows of an older ganboard
    preparation_seconds: float | None = Field(default=None, sa_type=Real)
    training_seconds: float = Field(sa_type=Real)  # training time up to here
    # share of each class among the generated images; empty without classes
    histogram: Float32s = Field(sa_type=Float32Array)
    # readers load them with the evaluations, never one by one
    metrics: list[Metric] = Relationship(
        sa_relationship=relationship(
            Metric, cascade="all, delete-orphan", passive_deletes=True, lazy="raise"
        )
    )

    @property
    def measures(self) -> dict[str, float]:
        """What was measured, by name."""
        return {metric.name: metric.value for metric in self.metrics}


def metric_rows(run_id: str, epoch: int, measures: Mapping[str, float]) -> list[Metric]:
    """The `metrics` of an evaluation."""
    return [
        Metric(run_id=run_id, epoch=epoch, name=name, value=value)
        for name, value in measures.items()
    ]


class Grid(SQLModel, table=True):
    """Images from the run's fixed latents after an epoch; epoch 0 is before training."""

    __tablename__ = "grid"

    run_id: str = _of_run(primary_key=True)
    epoch: int = Field(primary_key=True)
    attempt: int
    made_at: datetime = Field(default_factory=utc_now)
    rows: int
    columns: int
    png: bytes = Field(sa_type=LargeBinary)


class Checkpoint(SQLModel, table=True):
    """A checkpoint on disk; its place follows from (run, step, attempt), never from stored text."""

    __tablename__ = "checkpoint"

    run_id: str = _of_run(primary_key=True)
    step: int = Field(primary_key=True)
    attempt: int = Field(primary_key=True)
    epoch: int
    digest: str
    size: int = Field(sa_type=BigInteger)  # bytes
    saved_at: datetime = Field(default_factory=utc_now)
    # that has the files; None: not recorded
    machine: str | None = Field(default=None, sa_type=Text)


class Artifact(SQLModel, table=True):
    """A file or checkpoint of a run that lies whole in the artifact store; its key there follows
    from (run, name)."""

    __tablename__ = "artifact"

    # no foreign key: the row of a run that was removed says what is to be removed from the store
    run_id: str = Field(primary_key=True, sa_type=Text)
    # as in the run's folder: checkpoints/ckpt-12-1, snapshots/epoch-3.npz; logs/MACHINE.log;
    # models/ID, a version that was made of the run: it does not lie among the run's files and
    # stays; data/NAME, a cache of decoded pictures, of no run
    name: str = Field(primary_key=True, sa_type=Text)
    digest: str  # of a checkpoint's manifest, or of the file
    size: int = Field(sa_type=BigInteger)  # bytes
    # of a checkpoint
    step: int | None = None
    attempt: int | None = None
    epoch: int | None = None
    stored_at: datetime = Field(default_factory=utc_now)


class Event(SQLModel, table=True):
    """Something that happened to a run, in words."""

    __tablename__ = "event"
    __table_args__ = (Index("ix_event_run_id_id", "run_id", "id"),)

    id: int | None = Field(default=None, primary_key=True)
    run_id: str = _of_run()
    attempt: int
    at: datetime = Field(default_factory=utc_now)
    level: str
    text: str = Field(sa_type=Text)


class SystemSample(SQLModel, table=True):
    """What the trainer used at one moment."""

    __tablename__ = "system_sample"

    run_id: str = _of_run(primary_key=True)
    at: datetime = Field(primary_key=True, default_factory=utc_now)
    attempt: int
    cpu_percent: float = Field(sa_type=Real)  # of the whole machine, 0 to 100
    rss_bytes: float = Field(sa_type=Real)  # resident memory of the trainer
    memory_percent: float = Field(sa_type=Real)  # of the whole machine
    gpu_percent: float | None = Field(default=None, sa_type=Real)
    gpu_memory_bytes: float | None = Field(default=None, sa_type=Real)


class UsageSample(SQLModel, table=True):
    """What one process of a run, or one device of its machine, used at one moment. What could not
    be read is None, and `note` says why."""

    __tablename__ = "usage_sample"

    run_id: str = _of_run(primary_key=True)
    at: datetime = Field(primary_key=True)
    name: str = Field(primary_key=True, sa_type=Text)  # such as "Rank 1" or "GPU 0"
    attempt: int
    pid: int | None = None  # None: a device
    cpu_percent: float | None = Field(default=None, sa_type=Real)  # 100: one core
    rss_bytes: float | None = Field(default=None, sa_type=Real)
    gpu_percent: float | None = Field(default=None, sa_type=Real)
    gpu_memory_bytes: float | None = Field(default=None, sa_type=Real)
    watts: float | None = Field(default=None, sa_type=Real)  # of a device
    note: str | None = Field(default=None, sa_type=Text)


class ModelVersion(SQLModel, table=True):
    """A generator registered under a name; its files are below HOME/models/ID. It is kept when its
    run is deleted; version numbers are not reused."""

    __tablename__ = "model_version"
    __table_args__ = (UniqueConstraint("name", "version"),)

    id: str = Field(default_factory=new_id, primary_key=True, sa_type=Text)
    name: str = Field(sa_type=Text)
    version: int
    model: str  # the folder below gan/models
    variant: str  # how the weights are stored: float32, float16 or int8
    parent_id: str | None = Field(default=None, sa_type=Text)  # the version that was quantized
    run_id: str = Field(sa_type=Text)
    attempt: int
    epoch: int
    step: int
    digest: str  # SHA-256 of the manifest, which has those of all other files
    size: int = Field(sa_type=BigInteger)  # bytes
    quality: dict[str, Any] = _mapping()  # metrics by name
    created_at: datetime = Field(default_factory=utc_now)
    removed_at: datetime | None = None


class ModelAlias(SQLModel, table=True):
    """A word for one version of a model, such as `production`."""

    __tablename__ = "model_alias"

    name: str = Field(primary_key=True, sa_type=Text)
    alias: str = Field(primary_key=True, sa_type=Text)
    version_id: str = Field(
        sa_type=Text, sa_column_args=[ForeignKey("model_version.id", ondelete="CASCADE")]
    )


class Worker(SQLModel, table=True):
    """A process's last heartbeat and what its machine has."""

    __tablename__ = "worker"

    name: str = Field(primary_key=True)
    kind: str = Field(default=TRAINING, sa_column_kwargs={"server_default": TRAINING})
    host: str
    pid: int
    started_at: datetime = Field(default_factory=utc_now)
    heartbeat_at: datetime = Field(default_factory=utc_now)
    run_id: str | None = None  # being trained now
    devices: dict[str, Any] | None = Field(default=None, sa_type=Json)
    machine: str | None = Field(default=None, sa_type=Text)  # whose files it reads and writes
    boot: str | None = Field(default=None, sa_type=Text)  # of the kernel it runs on
    # what the owner of its machine calls that
    labels: list[str] = Field(
        default_factory=list, sa_type=Json, sa_column_kwargs={"server_default": "[]"}
    )
    # at which other machines reach its trainers
    address: str = Field(default="", sa_type=Text, sa_column_kwargs={"server_default": text("''")})


class Member(SQLModel, table=True):
    """A worker's part in an attempt that several machines train together: it counts while the run
    is active with this attempt."""

    __tablename__ = "member"
    __table_args__ = (UniqueConstraint("worker", name="uq_member_worker"),)

    run_id: str = _of_run(primary_key=True)
    index: int = Field(primary_key=True)  # 0 leads the group
    attempt: int
    worker: str = Field(sa_type=Text)
    machine: str = Field(sa_type=Text)
    host: str = Field(sa_type=Text)
    address: str = Field(sa_type=Text)  # at which the others reach it
    ports: list[int] = Field(default_factory=list, sa_type=Json)  # of its ranks; empty: not ready
    lease_until: datetime
    leaving: bool = False  # its worker shuts down
    ended: bool = False  # whether its part is over
    failure: str | None = Field(default=None, sa_type=Text)  # how its part ended
    final: bool = False  # whether another attempt would end alike


class BrokenLink(SQLModel, table=True):
    """A machine that did not reach another one of its group, by their addresses: until then no
    group has both."""

    __tablename__ = "broken_link"

    source: str = Field(primary_key=True, sa_type=Text)
    target: str = Field(primary_key=True, sa_type=Text)
    until: datetime


class SchedulerJob(SQLModel, table=True):
    """The job of another scheduler, such as SLURM, that starts a run."""

    __tablename__ = "scheduler_job"

    run_id: str = _of_run(primary_key=True)
    scheduler: str
    job_id: str = Field(default="", sa_type=Text)  # its own; empty: not submitted yet
    state: str = Field(default="", sa_type=Text)  # in its own words
    reason: str = Field(default="", sa_type=Text)  # why it waits or ended
    ended: bool = False
    attempt: int = 0  # of the run when the job was submitted
    failures: int = 0  # jobs in a row that ended without an attempt
    submitted_at: datetime | None = None


class Draining(SQLModel, table=True):
    """A machine whose workers finish what they train and start nothing else."""

    __tablename__ = "draining"

    machine: str = Field(primary_key=True, sa_type=Text)
    since: datetime = Field(default_factory=utc_now)


class AlertChannel(SQLModel, table=True):
    """Where alerts are sent. What grants access is an `AlertSecret`, so that nothing which lists
    channels can show it."""

    __tablename__ = "alert_channel"
    __table_args__ = (UniqueConstraint("name"),)

    id: str = Field(default_factory=new_id, primary_key=True, sa_type=Text)
    name: str = Field(sa_type=Text)
    kind: str  # one of `db.alerts.channels.KINDS`
    masked: str = Field(sa_type=Text)  # what may be shown of the address
    options: dict[str, Any] = _mapping()  # of mail: server, port, security, user, addresses
    enabled: bool = Field(default=True, sa_column_kwargs={"server_default": text("true")})
    paused_until: datetime | None = None  # as its receiver asked
    created_at: datetime = Field(default_factory=utc_now)


class AlertSecret(SQLModel, table=True):
    """The address of a webhook, or the password of a mail server: read by what sends, shown by
    nothing."""

    __tablename__ = "alert_secret"

    channel_id: str = Field(
        primary_key=True,
        sa_type=Text,
        sa_column_args=[ForeignKey("alert_channel.id", ondelete="CASCADE")],
    )
    value: str = Field(sa_type=Text)


class AlertRule(SQLModel, table=True):
    """What is sent to a channel, and of which runs."""

    __tablename__ = "alert_rule"

    id: str = Field(default_factory=new_id, primary_key=True, sa_type=Text)
    channel_id: str = Field(
        sa_type=Text, sa_column_args=[ForeignKey("alert_channel.id", ondelete="CASCADE")]
    )
    event: str  # one of `db.alerts.rules.EVENTS`
    condition: str = Field(default="", sa_type=Text)  # of `metric`: a search that becomes true
    minutes: int | None = None  # of `no_progress`
    search: str = Field(default="", sa_type=Text)  # the runs that it is about; empty: all
    enabled: bool = Field(default=True, sa_column_kwargs={"server_default": text("true")})
    created_at: datetime = Field(default_factory=utc_now)
    # what was before is not sent: switched on at this moment, after this event
    since: datetime = Field(default_factory=utc_now)
    since_event: int = 0
    seen_event: int = 0  # looked at so far


class AlertDelivery(SQLModel, table=True):
    """One alert on its way to a channel. The unique key makes finding it again harmless."""

    __tablename__ = "alert_delivery"
    __table_args__ = (
        UniqueConstraint("rule_id", "run_id", "occurrence"),
        Index("ix_alert_delivery_state", "state", "next_try_at"),
        Index("ix_alert_delivery_run_id", "run_id"),
    )

    id: str = Field(default_factory=new_id, primary_key=True, sa_type=Text)
    channel_id: str = Field(
        sa_type=Text, sa_column_args=[ForeignKey("alert_channel.id", ondelete="CASCADE")]
    )
    # None: a test message
    rule_id: str | None = Field(
        default=None, sa_type=Text, sa_column_args=[ForeignKey("alert_rule.id", ondelete="CASCADE")]
    )
    run_id: str | None = _of_run(default=None)
    occurrence: str = Field(default="", sa_type=Text)  # tells events of the same run apart
    message: dict[str, Any] = _mapping()  # what is said, as it was then
    state: str = "waiting"  # one of `db.alerts.deliveries.STATES`
    tries: int = 0  # that failed
    created_at: datetime = Field(default_factory=utc_now)
    next_try_at: datetime = Field(default_factory=utc_now)
    claimed_until: datetime | None = None  # by the process that sends it now
    tried_at: datetime | None = None  # the latest, of the first of the alerts in one message
    sent_at: datetime | None = None
    error: str | None = Field(default=None, sa_type=Text)  # of the latest try


class ApiToken(SQLModel, table=True):
    """A person's token for the REST API: its digest, never the token."""

    __tablename__ = "api_token"

    id: str = Field(default_factory=new_id, primary_key=True, sa_type=Text)
    name: str = Field(sa_type=Text)  # what it is for, in the owner's words
    owner: str = Field(sa_type=Text)  # e-mail address; an account of the machine without sign-in
    scope: str  # one of `db.access.tokens.SCOPES`
    digest: str = Field(index=True)  # SHA-256 in hexadecimal digits
    created_at: datetime = Field(default_factory=utc_now)
    expires_at: datetime = Field(default_factory=utc_now)
    revoked_at: datetime | None = None
    used_at: datetime | None = None  # to the minute


class AuditEntry(SQLModel, table=True):
    """A change that somebody asked for through the REST API, or a token made or revoked."""

    __tablename__ = "audit_entry"

    id: int | None = Field(default=None, primary_key=True)
    at: datetime = Field(default_factory=utc_now)
    who: str = Field(sa_type=Text)
    token_id: str | None = None  # None: without one
    action: str = Field(sa_type=Text)  # method and address, or what was done to a token
    status: int  # of HTTP
