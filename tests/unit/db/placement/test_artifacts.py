"""What lies in the artifact store: versions of models beside what belongs to runs."""

from __future__ import annotations

from sqlalchemy import Engine

from ganboard.db import versions
from ganboard.db.models import Artifact, ModelVersion
from ganboard.db.placement import artifacts


def registered(engine: Engine) -> ModelVersion:
    return versions.add(
        engine,
        ModelVersion(
            name="digits", model="dcgan", variant="float32", run_id="abcdefghjk", attempt=1,
            epoch=3, step=12, digest="0" * 64, size=5, version=0,
        ),
    )  # fmt: skip


def test_a_version_is_listed_with_its_run_and_outlives_it(engine: Engine) -> None:
    first, second = registered(engine), registered(engine)
    assert {one.id for one in artifacts.missing_versions(engine)} == {first.id, second.id}
    for name in (artifacts.version_name(first.id), "logs/box.log"):
        artifacts.add(engine, Artifact(run_id="abcdefghjk", name=name, digest="d", size=5))
    assert [one.id for one in artifacts.missing_versions(engine)] == [second.id]
    assert artifacts.of_removed_runs(engine) == ["abcdefghjk"]  # there is no such run
    artifacts.forget(engine, "abcdefghjk")
    assert artifacts.of_removed_runs(engine) == []
    assert artifacts.stored_versions(engine) == {first.id}
    assert artifacts.of_removed_versions(engine) == []
    versions.remove(engine, first)
    [gone] = artifacts.of_removed_versions(engine)
    assert gone.name == f"models/{first.id}"
    assert [one.id for one in artifacts.missing_versions(engine)] == [second.id]
