"""Learning rates as scheduled and as they took effect."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ganboard.gan.events import SERIES
from ganboard.worker.figures import rates
from ganboard.worker.figures.template import NETS

FRAME = pd.DataFrame(
    {"step": [1, 2, 3], "epoch": [0.5, 1.0, 1.5], **{name: [1e-4, 0.0, np.nan] for name in SERIES}}
)


def test_every_series_is_drawn_in_the_colour_of_its_network() -> None:
    plot = rates.rates(FRAME)
    assert {line.uid for line in plot.data} == set(SERIES)
    colours = {net: colour for net, _, colour in NETS}
    assert all(line.line.color == colours[line.uid[0]] for line in plot.data)
    assert [line.line.dash for line in plot.data] == ["dash", None] * 2
    assert len({line.name for line in plot.data}) == 4


def test_what_a_logarithm_cannot_show_is_a_gap() -> None:
    plot = rates.rates(FRAME, x="epoch")
    assert plot.layout.yaxis.type == "log"
    for line in plot.data:
        assert np.array_equal(line.y, [1e-4, np.nan, np.nan], equal_nan=True)
        assert line.x.tolist() == [0.5, 1.0, 1.5]
