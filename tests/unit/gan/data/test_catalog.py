"""What the launch form asks, and the download that it announces."""

from __future__ import annotations

import gzip
import hashlib
import os
import socket
import struct
import threading
import time
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from ganboard.gan.config import RunConfig
from ganboard.gan.data import DatasetError, catalog, download, load
from ganboard.gan.data.mnist import ORIGINS
from ganboard.gan.models.dcgan.config import Config
from ganboard.gan.settings import registry

ABSENT = [Config(dataset="mnist"), Config(dataset="fashion_mnist")]


def test_available_covers_every_dataset(tmp_path: Path) -> None:
    found = catalog.available(tmp_path / "absent")
    assert tuple(found) == registry.datasets()
    assert found["digits"] is None
    for name in ("mnist", "fashion_mnist", "images"):
        sentence = found[name]
        assert sentence
        assert sentence.endswith(".")
        assert str(tmp_path / "absent") in sentence


def test_idx_folders_are_no_pictures(tmp_path: Path) -> None:
    (tmp_path / "mnist").mkdir()
    assert catalog.available(tmp_path)["images"]
    (tmp_path / "cats").mkdir()
    assert catalog.available(tmp_path)["images"] is None


def test_count_of_known_sets(tmp_path: Path) -> None:
    assert catalog.count(Config(dataset="digits"), tmp_path) == 1797
    assert [catalog.count(config, tmp_path) for config in ABSENT] == [60_000, 60_000]


def test_digits_need_no_check(tmp_path: Path, offline: None) -> None:
    catalog.check(Config(dataset="digits"), tmp_path / "absent")


@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize("config", ABSENT, ids=lambda config: config.dataset)
@pytest.mark.parametrize("act", [catalog.check, load])
def test_absent_and_offline_names_places_and_remedies_at_once(
    tmp_path: Path, config: RunConfig, act: object
) -> None:
    before = time.monotonic()
    with pytest.raises(DatasetError) as caught:
        act(config, tmp_path)  # type: ignore[operator]
    assert time.monotonic() - before < 5
    sentence = str(caught.value)
    for part in (
        f"{tmp_path}/{config.dataset}.npz",
        "train-images-idx3-ubyte.gz",
        "GANBOARD_DATA_DIR",
        "dataset=digits",
        "127.0.0.1",
    ):
        assert part in sentence
    assert list(tmp_path.iterdir()) == []


def test_a_silent_host_is_given_up_after_the_timeout() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as server:
        address = server.getsockname()
        # a full backlog: further connections get no answer
        fillers = [socket.socket() for _ in range(4)]
        try:
            for filler in fillers:
                filler.setblocking(False)
                filler.connect_ex(address)
            before = time.monotonic()
            assert not download._reachable(address[0], address[1], timeout=0.2)
            assert time.monotonic() - before < 2
        finally:
            for filler in fillers:
                filler.close()


@pytest.mark.parametrize(
    ("proxy", "endpoint"),
    [
        (None, ("storage.googleapis.com", 443)),
        ("http://user:secret@proxy.example:3128", ("proxy.example", 3128)),
        ("proxy.example:8080", ("proxy.example", 8080)),
        ("https://proxy.example", ("proxy.example", 443)),
    ],
)
def test_the_proxy_is_what_must_be_reached(
    monkeypatch: pytest.MonkeyPatch, proxy: str | None, endpoint: tuple[str, int]
) -> None:
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    if proxy:
        monkeypatch.setenv("https_proxy", proxy)
    assert download._endpoint(download.ORIGIN) == endpoint


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_read_only_data_directory_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert "cannot be written" in str(download.obstacle(tmp_path))


def test_a_file_in_place_of_the_data_directory_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "cannot be written" in str(download.obstacle(tmp_path / "file"))


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None: ...


@pytest.fixture
def origin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A web server of our own in place of the download host; yields its folder."""
    folder = tmp_path / "served"
    folder.mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        monkeypatch.setattr(download, "ORIGIN", f"http://127.0.0.1:{server.server_port}/")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        yield folder
        server.shutdown()
        thread.join()


def test_fetch_is_whole_or_not_at_all(
    tmp_path: Path,
    origin: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (origin / "x.npz").write_bytes(b"content")
    target = tmp_path / "data" / "x.npz"
    digest = hashlib.sha256(b"content").hexdigest()
    with pytest.raises(DatasetError, match=r"absent.npz could not be downloaded .*404"):
        download.fetch("absent.npz", target, digest)
    with pytest.raises(DatasetError, match="hash does not match"):
        download.fetch("x.npz", target, "0" * 64)
    assert list(target.parent.iterdir()) == []

    download.fetch("x.npz", target, digest)
    assert target.read_bytes() == b"content"
    assert list(target.parent.iterdir()) == [target]
    assert capsys.readouterr().out == ""
    assert socket.getdefaulttimeout() is None

    monkeypatch.setattr(download, "_STALL", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setattr(download, "ORIGIN", f"http://127.0.0.1:{silent.getsockname()[1]}/")
        with pytest.raises(DatasetError, match="timed out"):
            download.fetch("x.npz", tmp_path / "data" / "y.npz", digest)


def test_load_downloads_what_is_absent(tmp_path: Path, origin: Path) -> None:
    digits = load(Config(dataset="digits"), tmp_path)
    assert digits.labels is not None
    images, labels = digits.images.tobytes(), digits.labels.astype("uint8").tobytes()
    (origin / "train-images-idx3-ubyte.gz").write_bytes(
        gzip.compress(struct.pack(">4I", 0x803, 1797, 28, 28) + images, 1)
    )
    (origin / "train-labels-idx1-ubyte.gz").write_bytes(
        gzip.compress(struct.pack(">2I", 0x801, 1797) + labels, 1)
    )
    folder = tmp_path / "data"
    config = Config(dataset="fashion_mnist", limit=64)
    catalog.check(config, folder)
    data = load(config, folder)
    assert (data.images == digits.images[:64]).all()
    assert catalog.count(config, folder) == 1797
    assert sorted(path.name for path in folder.rglob("*")) == [
        "fashion_mnist",
        "train-images-idx3-ubyte.gz",
        "train-labels-idx1-ubyte.gz",
    ]


def test_origins_are_those_of_keras() -> None:
    import inspect

    from keras.src.datasets import fashion_mnist, mnist

    for name, module in (("mnist", mnist), ("fashion_mnist", fashion_mnist)):
        source = inspect.getsource(module)
        assert download.ORIGIN in source
        for file, sha256 in ORIGINS[name].files.items():
            assert file in source
            assert sha256 is None or sha256 in source
