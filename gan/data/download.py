"""Keras's own download of MNIST and Fashion-MNIST, into the data directory, whole or not at all."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import tempfile
import threading
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

from ganboard.gan.data.dataset import DatasetError

ORIGIN = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/"
_STALL = 30.0  # seconds without a byte


def obstacle(data_dir: Path, origin: str | None = None) -> str | None:
    """Why nothing can be downloaded into `data_dir` just now (asked within three seconds), or
    None."""
    existing = next(
        folder for folder in (data_dir, *data_dir.absolute().parents) if folder.exists()
    )
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        return f"{data_dir} cannot be written, so that nothing can be downloaded there"
    host, port = _endpoint(origin or ORIGIN)
    return (
        None
        if _reachable(host, port)
        else f"{host}, from where Keras downloads it, cannot be reached from this machine"
    )


def fetch(name: str, target: Path, checksum: str | None, origin: str | None = None) -> None:
    """Download `name` from `origin`, or else ORIGIN, to `target`; a transfer that breaks off leaves
    nothing behind. `checksum` is its SHA-256 or MD5. Raises DatasetError."""
    from keras.utils import get_file

    address = (origin or ORIGIN) + name
    before = socket.getdefaulttimeout()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".download-", dir=target.parent) as folder:
            socket.setdefaulttimeout(_STALL)  # get_file itself waits forever
            # its progress bar; standard output may carry a JSON document
            with contextlib.redirect_stdout(sys.stderr):
                path = get_file(
                    name, address, cache_dir=folder, cache_subdir="", file_hash=checksum
                )
            os.replace(path, target)
    # get_file raises bare Exception for a failed transfer.
    except Exception as error:
        raise DatasetError(
            f"{address} could not be downloaded ({error}): try again, or copy the file to"
            f" {target} yourself."
        ) from error
    finally:
        socket.setdefaulttimeout(before)


def _endpoint(origin: str) -> tuple[str, int]:
    """Where the first connection of a download goes: the download host, or the proxy that the
    environment sets for it."""
    address = urlsplit(origin)
    proxy = urllib.request.getproxies().get(address.scheme)
    if proxy and not urllib.request.proxy_bypass(address.netloc):
        address = urlsplit(proxy if "//" in proxy else f"//{proxy}")
    return address.hostname or "", address.port or (443 if address.scheme == "https" else 80)


def _reachable(host: str, port: int, timeout: float = 3.0) -> bool:
    connected = threading.Event()

    def connect() -> None:
        with contextlib.suppress(OSError), socket.create_connection((host, port), timeout):
            connected.set()

    # The name look-up has no timeout of its own; in a thread it cannot hold up the caller.
    thread = threading.Thread(target=connect, daemon=True)
    thread.start()
    thread.join(timeout)
    return connected.is_set()
