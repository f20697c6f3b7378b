"""Ports for the trainers of a group, and the address at which other machines reach them."""

from __future__ import annotations

import errno
import socket
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import Self

from sqlalchemy.engine import make_url

from ganboard.db.settings import Settings, SettingsError

LOOPBACK = "127.0.0.1"
_DISCARD = 9  # no packet is sent to it


class Ports:
    """So many free ports that no other process is given while they are held, but that a server of
    ours may still take.

    Linux lets a second socket bind to an address if both allow its reuse and neither listens; no
    process is given a bound port by chance. Raises SettingsError when too few of `allowed` are
    free.
    """

    def __init__(self, count: int, allowed: range | None = None) -> None:
        self._count, self._allowed = count, allowed
        self._held = ExitStack()
        self.numbers: list[int] = []

    def __enter__(self) -> Self:
        for port in self._allowed or [0] * self._count:
            if len(self.numbers) == self._count:
                break
            self._hold(port)
        if len(self.numbers) < self._count:
            self._held.close()
            assert self._allowed is not None
            raise SettingsError(
                f"The run needs {self._count} of GANBOARD_PORTS="
                f"{self._allowed[0]}-{self._allowed[-1]}, and {len(self.numbers)} are free: choose"
                " a larger range."
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._held.close()

    def _hold(self, port: int) -> None:
        held = socket.socket()
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            held.bind(("", port))
        except OSError as error:
            held.close()
            if error.errno != errno.EADDRINUSE:
                raise
        else:
            self._held.enter_context(held)
            self.numbers.append(held.getsockname()[1])


def own_address(settings: Settings) -> str:
    """Where other machines reach this one: GANBOARD_ADDRESS, else the address of the interface
    that leads to the database, or to Redis. Raises SettingsError for one that is not this
    machine's."""
    if settings.address:
        _require_own(settings.address)
        return settings.address
    for url in (settings.database, settings.redis_url):
        host = make_url(url).host if "://" in url else None
        if host and (address := _way_to(host)) and not address.startswith("127."):
            return address
    return LOOPBACK


def _way_to(host: str) -> str:
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((host, _DISCARD))
        return str(probe.getsockname()[0])
    return ""


def _require_own(address: str) -> None:
    try:
        with socket.socket() as probe:
            probe.bind((address, 0))
    except OSError as error:
        reason = "it does not resolve" if isinstance(error, socket.gaierror) else error.strerror
        raise SettingsError(
            f"GANBOARD_ADDRESS={address[:80]} is no address of this machine ({reason}). Use the"
            " host name or the IPv4 address at which the other machines reach it."
        ) from None
