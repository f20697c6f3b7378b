"""The figures and images of a page in Streamlit's test harness."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import orjson
from streamlit.testing.v1 import AppTest


def figures(at: AppTest) -> list[dict[str, Any]]:
    """The Plotly figures of a page, in order."""
    return [found for found in components(at) if {"data", "layout"} <= found.keys()]


def components(at: AppTest) -> list[dict[str, Any]]:
    """What the components of a page were given as JSON in bytes, in order."""
    sent = [element.proto.bytes for element in at.get("bidi_component")]
    return [orjson.loads(one) for one in sent if one]


def numbers(array: Any) -> list[float]:
    """Values of a trace, which Plotly packs in base 64."""
    return (
        list(array)
        if isinstance(array, list)
        else np.frombuffer(base64.b64decode(array["bdata"]), array["dtype"]).tolist()
    )


def captions(at: AppTest) -> list[str]:
    """The captions of the images of a page that have one, in order."""
    found = [
        image.proto.imgs[0].caption if hasattr(image.proto, "imgs") else image.proto.caption
        for image in at.get("image")
    ]
    return [caption for caption in found if caption]
