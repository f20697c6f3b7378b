"""worker.artifacts.network_files: files of networks on two machines with one store."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ganboard.db import requests
from ganboard.db.models import Request, Run
from ganboard.db.placement import artifacts
from ganboard.gan import files
from ganboard.worker.artifacts import network_files, uploader
from ganboard.worker.artifacts.network_files import NoNetworkFile
from ganboard.worker.artifacts.store import Store, StoreError, open_store, run_key
from ganboard.worker.context import Context

CONTENT = b"a network" * 1000


@pytest.fixture
def written(here: Context, make_run: Callable[..., Run]) -> Request:
    """A file that this machine's analysis worker has written."""
    return write(here, make_run().id)


def write(context: Context, run_id: str) -> Request:
    asked = requests.ask(context.engine, requests.NETWORK_FILE, [run_id], {"format": "keras"})
    request = requests.claim(context.engine, requests.NETWORK_FILES, asked)
    assert request is not None
    path = network_files.folder(context, run_id) / asked
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(CONTENT)
    size, digest = files.measure(path)
    facts = {"file": "generator.keras", "size": size, "digest": digest, "machine": "box"}
    assert requests.answer(context.engine, request, result=b"", facts=facts)
    found = requests.find(context.engine, asked)
    assert found is not None
    return found


def store_of(context: Context) -> Store:
    found = open_store(context.settings)
    assert found is not None
    return found


def uploaded(context: Context) -> int:
    return uploader.upload_round(context, store_of(context), {})


def read(context: Context, answered: Request) -> bytes:
    with network_files.opened(context, answered) as file:
        file.seek(0)
        return file.read()


def stored(context: Context, run_id: str) -> list[str]:
    return [name for name in artifacts.of_run(context.engine, run_id) if "networks/" in name]


def test_a_file_is_fetched_where_it_is_wanted(
    here: Context, other: Context, written: Request
) -> None:
    with pytest.raises(NoNetworkFile, match=r"generator\.keras is on machine box and in no"):
        network_files.opened(other, written)
    assert uploaded(other) == 0
    assert uploaded(here) == 1
    assert uploaded(here) == 0
    assert read(other, written) == CONTENT
    store_of(here).remove("runs")
    assert read(other, written) == CONTENT  # not asked for again


def test_a_deleted_one_leaves_the_store_and_both_disks(
    here: Context, other: Context, written: Request
) -> None:
    uploaded(here)
    read(other, written)
    network_files.remove(here, written.run_id, [written.id])
    uploaded(here)
    assert stored(here, written.run_id) == []
    with pytest.raises(StoreError):
        store_of(here).get(
            run_key(written.run_id, f"networks/{written.id}"), here.settings.state / "back"
        )
    for context in (here, other):
        network_files.remove(context, written.run_id, [])  # as the next answer there does
        assert list(network_files.folder(context, written.run_id).iterdir()) == []


def test_what_is_damaged_is_neither_stored_nor_handed_out(
    here: Context, other: Context, written: Request
) -> None:
    path = network_files.folder(here, written.run_id) / written.id
    path.write_bytes(b"other")
    assert uploaded(here) == 0
    assert stored(here, written.run_id) == []
    path.write_bytes(CONTENT)
    assert uploaded(here) == 1
    path.write_bytes(b"other")
    store_of(here).put(path, run_key(written.run_id, f"networks/{written.id}"))
    with pytest.raises(StoreError, match=r"in the store .* is damaged and was not used"):
        network_files.opened(other, written)
    assert list(network_files.folder(other, written.run_id).iterdir()) == []
