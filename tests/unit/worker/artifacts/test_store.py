"""worker.artifacts.store on a folder and on a server of S3's protocol."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from ganboard.db.settings import Settings, SettingsError
from ganboard.worker.artifacts.store import Store, StoreAway, StoreError, configured, open_store
from tests.stores import names

DATA = os.urandom(3_000_000)


def opened(url: str, home: Path) -> Store:
    store = open_store(Settings(home=home, store=url))
    assert store is not None
    return store


@pytest.fixture
def store(url: str, tmp_path: Path) -> Store:
    return opened(url, tmp_path)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "state.npz"
    path.write_bytes(DATA)
    return path


def test_what_was_put_comes_back(store: Store, file: Path, tmp_path: Path) -> None:
    store.check()
    assert names(store, "runs") == []
    store.put(file, "runs/a/state.npz")
    store.put(file, "runs/b/state.npz")
    store.get("runs/a/state.npz", tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == DATA
    assert names(store, "runs") == ["a", "b"]
    store.remove("runs/a")
    store.remove("runs/never")
    assert names(store, "runs") == ["b"]
    with pytest.raises(StoreError, match=r"runs/a/state\.npz is not in the store"):
        store.get("runs/a/state.npz", tmp_path / "gone")


def test_a_file_is_replaced_and_one_that_is_put_once_is_not(store: Store, file: Path) -> None:
    other = file.with_name("other")
    other.write_bytes(b"other")
    store.put(file, "log")
    store.put(other, "log")
    store.put(file, "manifest", once=True)
    store.put(file, "manifest", once=True)  # equal: stored before a cut
    with pytest.raises(StoreError, match="another program writes there"):
        store.put(other, "manifest", once=True)


def test_a_file_that_is_gone_is_not_the_stores_fault(store: Store, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        store.put(tmp_path / "pruned", "key")


class Faulty:
    """A file system with one fault."""

    def __init__(self, fs: Any, fault: str) -> None:
        self._fs, self._fault = fs, fault

    def __getattr__(self, name: str) -> Any:
        return getattr(self._fs, name)

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite") -> None:
        if self._fault == "read-only":
            raise PermissionError("Access Denied")
        if self._fault == "away":
            raise ConnectionError("Connection refused")
        if self._fault == "no bucket":
            raise FileNotFoundError("The specified bucket does not exist")
        if self._fault == "ignores":
            mode = "overwrite"
        self._fs.pipe_file(path, b"" if self._fault == "loses" else value, mode=mode)

    def put_file(self, source: str, path: str) -> None:
        self._fs.pipe_file(path, b"lost")


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("read-only", "refuses it. Give the credentials of this machine the right to read"),
        ("away", "does not answer \\(Connection refused\\)"),
        ("no bucket", "does not exist. Create it, or correct GANBOARD_STORE"),
        ("ignores", "ignores conditional writes"),
        ("loses", "does not return what was written"),
    ],
)
def test_a_store_that_cannot_be_used_is_refused(
    store: Store, file: Path, fault: str, says: str
) -> None:
    faulty = Store(store.url, Faulty(store._fs, fault), store._root)
    with pytest.raises(StoreError, match=says) as refused:
        faulty.check()
    assert isinstance(refused.value, StoreAway) == (fault == "away")
    with pytest.raises(StoreError, match="it loses data"):
        faulty.put(file, "key")


def test_an_address_without_a_server_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from tests.up import free_port

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "hush")
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    store = opened("s3://bucket-away/ganboard", tmp_path)
    with pytest.raises(StoreAway, match="s3://bucket-away/ganboard does not answer") as refused:
        store.check()
    assert "hush" not in str(refused.value)


@pytest.mark.parametrize(
    "url",
    [
        "bucket",
        "/shared",
        "ftp://host/folder",
        "s3://",
        "file://",
        "s3://key:secret@bucket/x",
        "s3://bucket/x?key=secret",
    ],
)
def test_what_is_no_store_is_refused_without_repeating_secrets(tmp_path: Path, url: str) -> None:
    with pytest.raises(SettingsError, match="GANBOARD_STORE is not a store such as") as refused:
        configured(Settings(home=tmp_path, store=url))
    assert "secret" not in str(refused.value)
    assert not configured(Settings(home=tmp_path))
    assert open_store(Settings(home=tmp_path)) is None


def test_a_package_that_is_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fsspec

    def absent(url: str, **options: bool) -> None:
        raise ImportError(url)

    monkeypatch.setattr(fsspec.core, "url_to_fs", absent)
    with pytest.raises(StoreError, match="needs the package gcsfs, which is not installed"):
        opened("gs://bucket/x", tmp_path)
