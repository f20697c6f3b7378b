"""worker.process.ports: ports that stay ours, and the address that others use."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from ganboard.db.settings import Settings, SettingsError
from ganboard.worker.process.ports import LOOPBACK, Ports, own_address


def test_ports_come_from_the_range_and_skip_what_is_in_use() -> None:
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        port = taken.getsockname()[1]
        last = min(port + 40, 65_535)
        with Ports(2, range(port, last + 1)) as ports:
            assert len(set(ports.numbers)) == 2
            assert all(port < number <= last for number in ports.numbers)
        with pytest.raises(SettingsError, match=r"needs 1 of.*0 are free: choose"):
            Ports(1, range(port, port + 1)).__enter__()


@pytest.mark.parametrize("text", ["20000", "20100-20000", "80-90", "a-b", "20000-70000"])
def test_a_range_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(SettingsError, match=r"GANBOARD_PORTS=.*is not a range of ports"):
        Settings(home=tmp_path, ports=text).prepare_home()


def test_the_address_is_the_way_to_the_database(tmp_path: Path) -> None:
    assert own_address(Settings(home=tmp_path)) == LOOPBACK
    local = Settings(home=tmp_path, database_url="postgresql://u@127.0.0.1/g")
    assert own_address(local) == LOOPBACK
    assert own_address(Settings(home=tmp_path, address=LOOPBACK)) == LOOPBACK


@pytest.mark.parametrize("address", ["192.0.2.7", "no-such-host.invalid"])
def test_an_address_of_another_machine_is_refused(tmp_path: Path, address: str) -> None:
    with pytest.raises(SettingsError, match=f"GANBOARD_ADDRESS={address} is no address of this"):
        own_address(Settings(home=tmp_path, address=address))
