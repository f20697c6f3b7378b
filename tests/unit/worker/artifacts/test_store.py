"""worker.artifacts.store on a folder and on a server of S3's protocol."""

from __future__ import annotations

import errno
import os
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import fsspec
import pytest
from botocore.exceptions import ClientError
from s3fs.errors import translate_boto_error

from ganboard.db.settings import Settings, SettingsError
from ganboard.worker.artifacts import folder
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
        if self._fault == "skewed":
            error = ClientError({"Error": {"Code": "RequestTimeTooSkewed"}}, "PutObject")
            raise translate_boto_error(error)
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
        ("skewed", "since the clock of this machine is wrong. Synchronize it with NTP"),
        ("away", "does not answer \\(Connection refused\\)"),
        ("no bucket", "does not exist. Create it, or correct GANBOARD_STORE"),
        ("ignores", "ignores conditional writes"),
        ("loses", "does not return what was written"),
    ],
)
def test_a_store_that_cannot_be_used_is_refused(file: Path, fault: str, says: str) -> None:
    memory = fsspec.filesystem("memory", skip_instance_cache=True)
    faulty = Store("s3://bucket/ganboard", Faulty(memory, fault), f"/{uuid.uuid4()}")
    with pytest.raises(StoreError, match=says) as refused:
        faulty.check()
    assert isinstance(refused.value, StoreAway) == (fault == "away")
    with pytest.raises(StoreError, match="it loses data"):
        faulty.put(file, "key")


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("fsync", r"cannot flush files to its disk \(fsync\)"),
        ("link", "has no hard links, without which machines could overwrite"),
        ("links twice", "replaces a file that is created twice"),
        ("rename", "does not let a file be renamed over another one"),
        ("cached", "does not show another process what was written"),
    ],
)
def test_a_folder_that_lacks_what_the_store_needs_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, says: str
) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(errno.EINVAL if fault == "fsync" else errno.EPERM, "Not supported")

    def replace(source: Path, target: Path) -> None:
        target.unlink(missing_ok=True)
        real(source, target)

    real = os.link
    match fault:
        case "fsync":
            monkeypatch.setattr(os, "fsync", refuse)
        case "link":
            monkeypatch.setattr(os, "link", refuse)
        case "links twice":
            monkeypatch.setattr(os, "link", replace)
        case "rename":
            monkeypatch.setattr(Path, "replace", refuse)
        case _:
            monkeypatch.setattr(folder, "_READ", "")
    store = opened(f"file://{tmp_path}/shared", tmp_path)
    with pytest.raises(StoreError, match=f"^The folder file://{tmp_path}/shared {says}.* Use one"):
        store.check()
    assert names(store, "check") == []


def test_a_folder_that_is_read_only_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(tmp_path))

    store = opened(f"file://{tmp_path}/shared", tmp_path)
    monkeypatch.setattr(Path, "mkdir", refuse)
    for refused in (store.check, lambda: store.put(Path(__file__), "key")):
        with pytest.raises(StoreError, match=r"refuses it\. Give the credentials of this machine"):
            refused()


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    store = opened(f"file://{tmp_path}/file/shared", tmp_path)
    with pytest.raises(StoreError, match=r"cannot be written \(Not a directory\)") as refused:
        store.check()
    assert not isinstance(refused.value, StoreAway)


def test_a_file_in_a_folder_appears_whole_or_not_at_all(
    tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut(*_: Any) -> None:
        raise KeyboardInterrupt

    store = opened(f"file://{tmp_path}/shared", tmp_path)
    store.put(file, "log")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", cut)
        for once in (False, True):
            with pytest.raises(KeyboardInterrupt):
                store.put(Path(__file__), "log", once=once)
    assert (tmp_path / "shared" / "log").read_bytes() == DATA
    assert os.listdir(tmp_path / "shared") == ["log"]


def test_of_those_that_create_a_file_at_once_one_succeeds(tmp_path: Path) -> None:
    sources = [tmp_path / str(number) for number in range(4)]
    for source in sources:
        source.write_bytes(source.name.encode() * 100_000)
    together = threading.Barrier(len(sources))

    def race(source: Path) -> bool:
        together.wait()
        with suppress(FileExistsError):
            folder.put(source, target, once=True)
            return True
        return False

    with ThreadPoolExecutor(len(sources)) as racers:
        for attempt in range(20):
            target = tmp_path / "shared" / f"manifest-{attempt}"
            won = list(racers.map(race, sources))
            assert sum(won) == 1
            assert target.read_bytes() == sources[won.index(True)].read_bytes()


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
    def absent(url: str, **options: bool) -> None:
        raise ImportError(url)

    monkeypatch.setattr(fsspec.core, "url_to_fs", absent)
    with pytest.raises(StoreError, match="needs the package gcsfs, which is not installed"):
        opened("gs://bucket/x", tmp_path)
