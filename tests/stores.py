"""Stores to try: a folder, and a server that speaks S3's protocol."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from ganboard.worker.artifacts.store import Store

S3 = {
    "AWS_ACCESS_KEY_ID": "key",
    "AWS_SECRET_ACCESS_KEY": "a secret that comes out nowhere",
    "AWS_DEFAULT_REGION": "us-east-1",
}


def names(store: Store, prefix: str) -> list[str]:
    """What lies directly below a prefix of a store."""
    store._fs.invalidate_cache()
    try:
        found = store._fs.ls(f"{store._root}/{prefix}", detail=False)
    except FileNotFoundError:
        return []
    return sorted(str(one).rstrip("/").rpartition("/")[2] for one in found)


@pytest.fixture(scope="session")
def s3() -> Iterator[str]:
    """The address of an S3 server of this process's."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(params=["file", pytest.param("s3", marks=pytest.mark.thorough)])
def url(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of an empty store."""
    if request.param == "file":
        (tmp_path / "shared").mkdir()
        return f"file://{tmp_path}/shared/ganboard"
    for name, value in {**S3, "AWS_ENDPOINT_URL": request.getfixturevalue("s3")}.items():
        monkeypatch.setenv(name, value)
    import fsspec

    bucket = uuid.uuid4().hex
    # an instance for the server of now: fsspec keeps those of earlier tests
    fsspec.filesystem("s3", skip_instance_cache=True).mkdir(bucket)
    return f"s3://{bucket}/ganboard"
