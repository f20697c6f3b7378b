"""Versions of models: which there are, and all writes of them. Their files are
`gan.generation.package`'s."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sqlalchemy import Engine, delete, func
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session, col, select

from ganboard.db.clock import now
from ganboard.db.engine import reading, writing
from ganboard.db.errors import BadAnnotation, NotAllowed, UnknownVersion
from ganboard.db.models import ModelAlias, ModelVersion

NAME = r"[a-z0-9][a-z0-9._-]{0,39}"
ALIAS = r"[a-z][a-z0-9_-]{0,31}"
_SPEC = re.compile(rf"(?P<name>{NAME})(:(?P<version>[0-9]{{1,9}})|@(?P<alias>{ALIAS}))?", re.ASCII)
_TRIES = 20  # of writers that take the same number at once


def check_name(text: str) -> str:
    """The name of a model. Raises BadAnnotation."""
    if not re.fullmatch(NAME, text, re.ASCII):
        raise BadAnnotation(
            f"{text[:80]!r} is not a valid model name. Use up to 40 of a-z, 0-9, dot, - and _,"
            " starting with a letter or digit."
        )
    return text


def add(engine: Engine, version: ModelVersion) -> ModelVersion:
    """Store a version under the next number of its name; numbers of removed ones are not used
    again. Raises BadAnnotation."""
    check_name(version.name)
    values = version.model_dump(exclude={"version"})
    for _ in range(_TRIES):
        try:
            with writing(engine) as session:
                newest = (
                    session.scalar(
                        select(func.max(ModelVersion.version)).where(
                            ModelVersion.name == version.name
                        )
                    )
                    or 0
                )
                stored = ModelVersion(**values, version=newest + 1)
                session.add(stored)
        except IntegrityError:  # on PostgreSQL another one was quicker
            continue
        return stored
    raise NotAllowed(f"{_TRIES} versions of {version.name} were stored concurrently. Try again.")


def find(engine: Engine, text: str) -> ModelVersion:
    """The version that NAME (the newest), NAME:VERSION or NAME@ALIAS says. Raises
    UnknownVersion."""
    said = _SPEC.fullmatch(text.strip())
    if said is None:
        raise UnknownVersion(
            f"{text[:80]!r} is not a version of a model. Use NAME, NAME:VERSION or NAME@ALIAS."
        )
    wanted = select(ModelVersion).where(
        ModelVersion.name == said["name"], col(ModelVersion.removed_at).is_(None)
    )
    if said["version"]:
        wanted = wanted.where(ModelVersion.version == int(said["version"]))
    if said["alias"]:
        named = col(ModelAlias.name) == said["name"], col(ModelAlias.alias) == said["alias"]
        wanted = wanted.where(col(ModelVersion.id).in_(select(ModelAlias.version_id).where(*named)))
    with reading(engine) as session:
        found = session.exec(wanted.order_by(col(ModelVersion.version).desc()).limit(1)).first()
    if found is None:
        raise UnknownVersion(f"There is no model {text.strip()}: `ganboard models` lists them.")
    return found


def get(engine: Engine, version_id: str) -> ModelVersion | None:
    """A version, also a removed one."""
    with reading(engine) as session:
        return session.get(ModelVersion, version_id)


def listed(engine: Engine) -> Sequence[ModelVersion]:
    """All versions that were not removed, by name, the newest first."""
    order = col(ModelVersion.name), col(ModelVersion.version).desc()
    with reading(engine) as session:
        return session.exec(
            select(ModelVersion).where(col(ModelVersion.removed_at).is_(None)).order_by(*order)
        ).all()


def aliases(engine: Engine) -> Mapping[str, list[str]]:
    """The aliases of each version that has some, by its id, in alphabetical order."""
    found: dict[str, list[str]] = {}
    with reading(engine) as session:
        for one in session.exec(select(ModelAlias).order_by(ModelAlias.alias)):
            found.setdefault(one.version_id, []).append(one.alias)
    return found


def alias(engine: Engine, version: ModelVersion, word: str) -> None:
    """Let NAME@`word` mean this version, and no other any more. Raises BadAnnotation,
    UnknownVersion."""
    if not re.fullmatch(ALIAS, word, re.ASCII):
        raise BadAnnotation(
            f"{word[:80]!r} is not a valid alias. Use up to 32 of a-z, 0-9, - and _, starting with"
            " a letter."
        )
    with writing(engine) as session:
        _locked(session, version)
        session.merge(ModelAlias(name=version.name, alias=word, version_id=version.id))


def remove(engine: Engine, version: ModelVersion) -> None:
    """Forget a version and its aliases; the row stays as the origin of others. The caller deletes
    the files. Raises UnknownVersion."""
    with writing(engine) as session:
        _locked(session, version).removed_at = now()  # type: ignore[assignment]
        session.execute(delete(ModelAlias).where(col(ModelAlias.version_id) == version.id))


def _locked(session: Session, version: ModelVersion) -> ModelVersion:
    found = session.exec(
        select(ModelVersion).where(ModelVersion.id == version.id).with_for_update()
    ).first()
    if found is None or found.removed_at is not None:
        raise UnknownVersion(f"{version.name}:{version.version} has been removed.")
    return found
