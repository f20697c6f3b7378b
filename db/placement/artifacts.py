"""What of the runs lies whole in the artifact store. Reads and writes."""

from __future__ import annotations

import re
from collections.abc import Collection

from sqlalchemy import Engine, String, cast, delete, literal
from sqlmodel import col, exists, select

from ganboard.db.clock import now
from ganboard.db.engine import TRASH_TOO, reading, writing
from ganboard.db.models import WAITING, Artifact, Checkpoint, ModelVersion, Request, Run
from ganboard.db.requests import NETWORK_FILE

CHECKPOINTS = "checkpoints/"
MODELS = "models/"
LOGS = "logs/"
DATA = "data/"
NO_RUN = ""  # what belongs to none: caches of decoded pictures
NETWORKS = "networks/"
_LOG = re.compile(rf"{LOGS}([\w.-]{{1,200}})\.log", re.ASCII)
_IS_VERSION = col(Artifact.name).startswith(MODELS)


def checkpoint_name(step: int, attempt: int) -> str:
    """What a checkpoint is called in its run's folder, and in the store."""
    return f"{CHECKPOINTS}ckpt-{step}-{attempt}"


def version_name(version_id: str) -> str:
    """What a registered version is called in HOME and in the store; it is listed with the run that
    it comes from, and outlives it."""
    return f"{MODELS}{version_id}"


def cache_name(name: str) -> str:
    """What a cache of decoded pictures is called in the store."""
    return f"{DATA}{name}"


def network_name(request_id: str) -> str:
    """What the answer to a request for a network as a file is called in the store."""
    return f"{NETWORKS}{request_id}"


def log_name(machine: str) -> str:
    """What the log of a machine is called in its run's folder, and in the store."""
    return f"{LOGS}{machine}.log"


def add(engine: Engine, artifact: Artifact) -> None:
    """List what was stored whole and verified."""
    with writing(engine) as session:
        artifact.stored_at = now()  # type: ignore[assignment]
        session.merge(artifact)


def of_run(engine: Engine, run_id: str) -> dict[str, Artifact]:
    """What of a run is stored, by name."""
    with reading(engine) as session:
        found = session.exec(select(Artifact).where(Artifact.run_id == run_id))
        return {one.name: one for one in found}


def logs(engine: Engine, run_id: str) -> dict[str, Artifact]:
    """The stored logs of a run, by machine."""
    found = [(_LOG.fullmatch(name), one) for name, one in of_run(engine, run_id).items()]
    return {named[1]: one for named, one in found if named}


def log_sizes(engine: Engine, machine: str) -> dict[str, int]:
    """The bytes of the stored logs of a machine, by run."""
    with reading(engine) as session:
        found = session.exec(
            select(Artifact.run_id, Artifact.size).where(Artifact.name == log_name(machine))
        )
        return dict(found.all())


def checkpoints(engine: Engine, run_id: str) -> list[Artifact]:
    """The stored checkpoints of a run, newest first."""
    found = select(Artifact).where(Artifact.run_id == run_id, col(Artifact.step).is_not(None))
    with reading(engine) as session:
        return list(
            session.exec(found.order_by(col(Artifact.step).desc(), col(Artifact.attempt).desc()))
        )


def newest(engine: Engine, run_id: str) -> Artifact | None:
    """The newest stored checkpoint of a run."""
    return next(iter(checkpoints(engine, run_id)), None)


def newest_of_waiting(engine: Engine) -> dict[str, Artifact]:
    """The newest stored checkpoint of every waiting run that has one, by run."""
    found = (
        select(Artifact)
        .join(Run, col(Run.id) == Artifact.run_id)
        .where(col(Run.status).in_(WAITING), col(Artifact.step).is_not(None))
    )
    with reading(engine) as session:
        ascending = session.exec(found.order_by(col(Artifact.step), col(Artifact.attempt)))
        return {one.run_id: one for one in ascending}


def missing(engine: Engine, machine: str) -> list[Checkpoint]:
    """The newest listed checkpoint of each run on the disk of `machine` that is not stored, those
    saved last first."""
    name = literal(f"{CHECKPOINTS}ckpt-") + cast(Checkpoint.step, String) + "-"
    stored = exists().where(
        col(Artifact.run_id) == Checkpoint.run_id,
        col(Artifact.name) == name + cast(Checkpoint.attempt, String),
    )
    with reading(engine) as session:
        ascending = session.exec(
            select(Checkpoint)
            .where(Checkpoint.machine == machine, ~stored)
            .order_by(col(Checkpoint.step), col(Checkpoint.attempt))
        )
        newest_by_run = {one.run_id: one for one in ascending}
    return sorted(newest_by_run.values(), key=lambda one: one.saved_at, reverse=True)


def missing_versions(engine: Engine) -> list[ModelVersion]:
    """The registered versions that are not stored, on whichever disk they are."""
    stored = exists().where(
        col(Artifact.run_id) == ModelVersion.run_id,
        col(Artifact.name) == literal(MODELS) + ModelVersion.id,
    )
    with reading(engine) as session:
        return list(
            session.exec(
                select(ModelVersion).where(col(ModelVersion.removed_at).is_(None), ~stored)
            )
        )


def of_removed_versions(engine: Engine) -> list[Artifact]:
    """What is stored of versions that exist no longer."""
    alive = exists().where(
        col(Artifact.name) == literal(MODELS) + ModelVersion.id,
        col(ModelVersion.removed_at).is_(None),
    )
    with reading(engine) as session:
        return list(session.exec(select(Artifact).where(_IS_VERSION, ~alive)))


def missing_network_files(engine: Engine) -> list[Request]:
    """The answered requests for networks whose files are not stored, on whichever disk they are."""
    stored = exists().where(
        col(Artifact.run_id) == Request.run_id, col(Artifact.name) == literal(NETWORKS) + Request.id
    )
    answered = col(Request.answered_at).is_not(None) & col(Request.error).is_(None)
    with reading(engine) as session:
        return list(
            session.exec(select(Request).where(Request.kind == NETWORK_FILE, answered, ~stored))
        )


def of_removed_network_files(engine: Engine) -> list[Artifact]:
    """What is stored for requests that exist no longer."""
    alive = exists().where(col(Artifact.name) == literal(NETWORKS) + Request.id)
    ours = col(Artifact.name).startswith(NETWORKS)
    with reading(engine) as session:
        return list(session.exec(select(Artifact).where(ours, ~alive)))


def stored_versions(engine: Engine) -> set[str]:
    """The ids of the versions that are stored."""
    with reading(engine) as session:
        names = session.exec(select(Artifact.name).where(_IS_VERSION))
        return {name.removeprefix(MODELS) for name in names}


def caches(engine: Engine) -> dict[str, Artifact]:
    """The stored caches of decoded pictures, by their names on a disk; `stored_at` is when one was
    last known to be used."""
    return {name.removeprefix(DATA): one for name, one in of_run(engine, NO_RUN).items()}


def unused_caches(engine: Engine, days: float) -> list[str]:
    """What those are called in the store that no machine has used for so many days."""
    old = col(Artifact.stored_at) < now(-days * 86_400)
    with reading(engine) as session:
        return list(session.exec(select(Artifact.name).where(Artifact.run_id == NO_RUN, old)))


def remove(engine: Engine, run_id: str, names: Collection[str]) -> None:
    """List these no longer; their files may go afterwards."""
    with writing(engine) as session:
        session.execute(
            delete(Artifact).where(col(Artifact.run_id) == run_id, col(Artifact.name).in_(names))
        )


def of_removed_runs(engine: Engine) -> list[str]:
    """The runs that exist no longer, not even in the trash, but have something in the store."""
    gone = ~exists().where(col(Run.id) == Artifact.run_id)
    with reading(engine) as session:
        return list(
            session.exec(
                select(Artifact.run_id)
                .where(gone, ~_IS_VERSION, Artifact.run_id != NO_RUN)
                .distinct(),
                execution_options=TRASH_TOO,
            )
        )


def forget(engine: Engine, run_id: str) -> None:
    """List nothing of a run any more but the versions that were made of it."""
    with writing(engine) as session:
        session.execute(delete(Artifact).where(col(Artifact.run_id) == run_id, ~_IS_VERSION))
