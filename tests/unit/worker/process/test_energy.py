from __future__ import annotations

from pathlib import Path

from ganboard.worker.process.energy import Energy


def zone(zones: Path, name: str, microjoules: int) -> None:
    folder = zones / name
    folder.mkdir(exist_ok=True)
    (folder / "energy_uj").write_text(f"{microjoules}\n")
    (folder / "max_energy_range_uj").write_text("10000000\n")


def test_the_packages_are_added_and_their_parts_left_out(tmp_path: Path) -> None:
    for name in ("intel-rapl:0", "intel-rapl:1", "intel-rapl:0:0"):
        zone(tmp_path, name, 1_000_000)
    energy = Energy(tmp_path)
    zone(tmp_path, "intel-rapl:0", 3_000_000)
    zone(tmp_path, "intel-rapl:1", 1_500_000)
    zone(tmp_path, "intel-rapl:0:0", 9_000_000)
    assert energy.joules() == 2.5


def test_a_counter_may_start_again(tmp_path: Path) -> None:
    zone(tmp_path, "intel-rapl:0", 9_000_000)
    energy = Energy(tmp_path)
    zone(tmp_path, "intel-rapl:0", 500_000)
    assert energy.joules() == 1.5


def test_unreadable_counters_are_no_energy(tmp_path: Path) -> None:
    assert Energy(tmp_path).joules() is None
    zone(tmp_path, "intel-rapl:0", 1)
    energy = Energy(tmp_path)
    (tmp_path / "intel-rapl:0" / "energy_uj").unlink()
    assert energy.joules() is None
