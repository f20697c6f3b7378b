"""How files of showers are split into training and test."""

from __future__ import annotations

from pathlib import Path

from ganboard.gan.models.gan3d.data.splits import particle, split


def test_files_are_split_by_particle_and_name() -> None:
    names = [f"Ele_VarAngleMeas_100_200_{i:03}.h5" for i in range(28)] + [
        "ChPiEscan_1_1.h5",
        "ChPiEscan_1_2.h5",
        "Gamma_1.h5",
    ]
    paths = [Path("data") / name for name in names]
    train, test = split(list(reversed(paths)))
    assert sorted(train + test) == sorted(paths)
    # 25 and 3, as 3DGAN's training had
    assert [path.name for path in test] == ["ChPiEscan_1_2.h5", *names[25:28]]
    assert particle(paths[0]) == "Ele"
    assert particle(Path("EleEscan_1_1.h5")) == "Ele"
    assert particle(Path("showers.h5")) == "showers"
