"""The buttons over every Plotly figure: on the pages, in reports and in exported files.

Plotly's own choice begins with a button that uploads the figure's data to Plotly's server.
"""

from __future__ import annotations

from typing import Any

CONFIG: dict[str, Any] = {
    "displaylogo": False,
    "modeBarButtonsToRemove": ["sendChartToCloud", "select2d", "lasso2d", "autoScale2d"],
    "plotlyServerURL": "",  # no address to send anything to, whatever button a later Plotly brings
    "showSendToCloud": False,
    "toImageButtonOptions": {
        "format": "png",
        "scale": 2,
    },  # twice the pixels of the screen: for print
}
