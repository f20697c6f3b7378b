"""Surfaces and radii as figures."""

from __future__ import annotations

import numpy as np
import pytest

from ganboard.worker.figures import surface
from tests.surfaces import arrays

NAMES = ["batch <64>", "batch 512"]


@pytest.mark.parametrize(("dimensions", "kind"), [(3, "surface"), (2, "contour")])
@pytest.mark.parametrize("net", ["g", "d"])
def test_a_surface_with_a_path_for_each_run(net: str, dimensions: int, kind: str) -> None:
    plot = surface.landscape(
        arrays(2), net=net, plane="principal", names=NAMES, numbers=[1, 2], dimensions=dimensions
    )
    ground, *paths = plot.data
    assert ground.type == kind
    assert np.isnan(ground.z[0][0])
    assert [path.name for path in paths] == ["batch &lt;64&gt;", "batch 512"]
    assert len({path.line.color for path in paths}) == 2
    assert list(paths[0].customdata[:, 0]) == [0, 1, 2, 3]
    assert paths[0].marker.symbol[-1] == "diamond"


def test_radii_of_both_nets() -> None:
    plot = surface.radius(arrays(2), names=NAMES, numbers=[1, 2])
    assert [(trace.name, trace.line.dash) for trace in plot.data] == [
        ("batch &lt;64&gt;, Generator", "solid"),
        ("batch &lt;64&gt;, Discriminator", "dash"),
        ("batch 512, Generator", "solid"),
        ("batch 512, Discriminator", "dash"),
    ]
    assert list(plot.data[0].y) == pytest.approx([3, 2, 1, 0])


def test_both_nets_and_radii_in_one_figure() -> None:
    plot = surface.side_by_side(arrays(2), NAMES)
    assert [trace.type for trace in plot.data].count("contour") == 2
    assert [trace.name for trace in plot.data if trace.showlegend] == [
        "batch &lt;64&gt;",
        "batch 512",
    ]
