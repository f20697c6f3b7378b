from __future__ import annotations

from pathlib import Path

import pytest

from ganboard.gan.devices import hardware, tpu_chips


def pci(root: Path, *devices: tuple[str, str]) -> None:
    for number, (vendor, device) in enumerate(devices):
        folder = root / "sys/bus/pci/devices" / f"0000:00:{number:02x}.0"
        folder.mkdir(parents=True)
        (folder / "vendor").write_text(f"{vendor}\n")
        (folder / "device").write_text(f"{device}\n")


def test_chips_are_counted_by_their_identifiers(tmp_path: Path) -> None:
    pci(tmp_path, ("0x8086", "0x1237"), ("0x1ae0", "0x0063"), ("0x1ae0", "0x0063"))
    assert tpu_chips.find(tmp_path) == ("v5e", 2)


def test_other_devices_of_google_are_no_chips(tmp_path: Path) -> None:
    pci(tmp_path, ("0x1ae0", "0x0042"))
    assert tpu_chips.find(tmp_path) is None


def test_without_pci_there_is_none(tmp_path: Path) -> None:
    assert tpu_chips.find(tmp_path) is None


def test_a_chip_has_one_or_two_cores() -> None:
    assert tpu_chips.Chips("v3", 4).cores == 8
    assert tpu_chips.Chips("v5e", 8).cores == 8


def test_cores_are_counted_by_chips_where_tensorflow_lists_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tpu_chips, "find", lambda: tpu_chips.Chips("v5e", 2))
    monkeypatch.setattr(hardware, "find_spec", lambda name: object())
    found = hardware._tpus([])
    assert found == {"tpus": ["TPU:0", "TPU:1"], "tpu_chips": {"kind": "v5e", "number": 2}}
    assert hardware._tpus(["/physical_device:TPU:0"])["tpus"] == ["/physical_device:TPU:0"]
    monkeypatch.setattr(hardware, "find_spec", lambda name: None)
    assert hardware._tpus([]) == {"tpus": []}, "without a driver for it there is no TPU"
