"""Answers in the inference worker's place, and the sheets that the page then shows."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import orjson
from PIL import Image
from streamlit.testing.v1 import AppTest

from ganboard.db import heartbeats, requests
from ganboard.db.models import INFERENCE, Request
from ganboard.worker.context import Context
from tests.ui.pages import checked


def png(columns: int, rows: int) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(np.zeros((28 * rows, 28 * columns), np.uint8)).save(buffer, "PNG")
    return buffer.getvalue()


def worker_alive(context: Context) -> None:
    heartbeats.record(
        context.engine,
        name="box:inference:1",
        kind=INFERENCE,
        host="box",
        pid=1,
        run_id=None,
        devices={"warm": True},
    )


def asked(context: Context) -> Request:
    """The one request that waits, claimed."""
    request = requests.claim(context.engine, requests.IMAGES)
    assert request is not None
    assert requests.claim(context.engine, requests.IMAGES) is None
    return request


def reply(
    context: Context, at: AppTest, *, columns: int = 4, rows: int = 4, **facts: Any
) -> tuple[AppTest, Request]:
    """Answer what waits; the page anew, and what was asked."""
    request = asked(context)
    size = {"columns": columns, "images": columns * rows, "seconds": 0.04}
    assert requests.answer(context.engine, request, result=png(columns, rows), facts=size | facts)
    return checked(at.run()), request


def sheets(at: AppTest) -> list[dict[str, Any]]:
    return [orjson.loads(element.proto.json) for element in at.get("bidi_component")]


def choose(at: AppTest, key: str, value: Any) -> AppTest:
    return checked(at.get_by_key(key).set_value(value).run())
