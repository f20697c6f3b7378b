"""Where 3DGAN's showers come from, and a whole training on them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ganboard.gan.config import ConfigError, RunConfig, parse
from ganboard.gan.data import DatasetError, catalog, load
from ganboard.gan.events import REAL_IMAGES, Grid, Started
from ganboard.gan.models.gan3d import source
from ganboard.gan.models.gan3d.data.layouts import FIXED, VARIABLE, Layout
from ganboard.gan.models.gan3d.data.sampler import Beam, Sampler
from ganboard.gan.models.gan3d.data.writer import write
from tests.recorder import assert_resumes

SMALL = {
    "model": "gan3d", "dataset": "showers", "limit": 4, "batch_size": 2, "epochs": 1,
    "grid_size": 2, "optimizer": "rmsprop", "keep_checkpoints": 1, "snapshots": 1,
}  # fmt: skip


def config(**changes: Any) -> RunConfig:
    return parse({**SMALL, **changes})


def written(folder: Path, layout: Layout, events: int = 5, name: str = "Ele_000.h5") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    beam = Beam(theta_low=90, theta_high=90) if layout is FIXED else Beam()
    write(folder / name, layout, Sampler(beam).events(events), events)
    return folder / name


@pytest.mark.parametrize(("geometry", "layout"), [("25x25x25", FIXED), ("51x51x25", VARIABLE)])
def test_files_give_what_the_sampler_gives(tmp_path: Path, geometry: str, layout: Layout) -> None:
    written(tmp_path / "files", layout)
    read = load(config(geometry=geometry, dataset="hdf5", images_path="files", limit=4), tmp_path)
    sampled = load(config(geometry=geometry), tmp_path)
    assert len(read) == len(sampled) == 4
    np.testing.assert_array_equal(read.cells, sampled.cells)
    np.testing.assert_allclose(read.values, sampled.values, rtol=1e-6)
    np.testing.assert_allclose(read.labels, sampled.labels, rtol=1e-5)
    assert len(sampled.first(3)) == 3
    np.testing.assert_array_equal(sampled.first(3).dense(2, 3), sampled.dense(2, 3))


def test_counting_reads_no_cells(tmp_path: Path) -> None:
    written(tmp_path / "files", FIXED, 3)
    written(tmp_path / "files" / "more", FIXED, 4, "Ele_001.hdf5")
    assert catalog.count(config(dataset="hdf5", images_path="files"), tmp_path) == 7
    assert catalog.count(config(), tmp_path) == source.SAMPLED
    assert catalog.available(tmp_path)["hdf5"] is None
    assert catalog.available(tmp_path / "nowhere")["showers"] is None
    assert "There is no folder or HDF5 file of showers in" in str(
        catalog.available(tmp_path / "nowhere")["hdf5"]
    )


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"dataset": "mnist"},
            "model=gan3d does not learn from dataset=mnist: choose one of showers, hdf5.",
        ),
        (
            {"dataset": "hdf5"},
            (
                "dataset=hdf5 needs images_path: the folder or file inside the data directory that"
                " holds the showers."
            ),
        ),
        ({"loss": "hinge"}, "loss=hinge has no meaning for model=gan3d: leave it out."),
        (
            {"model": "dcgan", "dataset": "digits", "geometry": "51x51x25"},
            "geometry=51x51x25 has no meaning for model=dcgan: leave it out.",
        ),
    ],
)
def test_settings_that_do_not_go_together(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        config(**changes)
    assert str(caught.value) == sentence


def test_files_of_the_other_geometry_and_no_files(tmp_path: Path) -> None:
    path = written(tmp_path / "files", VARIABLE, 2)
    with pytest.raises(
        DatasetError,
        match=(
            "holds 51x51x25 cells per event, and geometry=25x25x25: set geometry to what the files"
            " have"
        ),
    ):
        catalog.check(config(dataset="hdf5", images_path="files"), tmp_path)
    path.unlink()
    with pytest.raises(DatasetError, match="There is no HDF5 file"):
        catalog.check(config(dataset="hdf5", images_path="files"), tmp_path)
    with pytest.raises(
        DatasetError,
        match=r"there is no such folder or HDF5 file\): name a folder or HDF5 file inside",
    ):
        catalog.check(config(dataset="hdf5", images_path="elsewhere"), tmp_path)


@pytest.mark.thorough
def test_a_training_stopped_in_the_middle_ends_as_one_that_was_not(tmp_path: Path) -> None:
    whole = assert_resumes(config(), tmp_path)
    assert [grid.epoch for grid in whole.of(Grid)] == [REAL_IMAGES, 0, 1]
    assert (whole.of(Started)[0].g_parameters, whole.of(Started)[0].d_parameters) == (
        872_948,
        73_450,
    )


def test_the_web_process_counts_sampled_showers_without_their_tools() -> None:
    code = (
        "import sys; from pathlib import Path; from ganboard.gan.config import parse; from"
        " ganboard.gan.data import catalog; from ganboard.gan.costs import estimate as"
        " costs\nconfig = parse({'model': 'gan3d', 'dataset': 'showers'}); catalog.check(config,"
        " Path()); costs.estimate(config)\nprint(catalog.count(config, Path()), {'h5py', 'scipy',"
        " 'tensorflow'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "10000 set()\n"
