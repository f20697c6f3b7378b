"""One event file: TensorFlow's records of `Event` messages, as TensorBoard reads them.

TensorBoard's own packages encode everything, without TensorFlow: only `tensorboard.compat.tf` would
load that, and nothing here touches it.
"""

from __future__ import annotations

import io
import os
import socket
import time
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.plugins.histogram import metadata as histogram_metadata
from tensorboard.plugins.hparams import api_pb2, plugin_data_pb2, summary_v2
from tensorboard.plugins.hparams import metadata as hparams_metadata
from tensorboard.plugins.image import metadata as image_metadata
from tensorboard.plugins.scalar import metadata as scalar_metadata
from tensorboard.plugins.text import metadata as text_metadata
from tensorboard.summary.writer.record_writer import RecordWriter
from tensorboard.util.tensor_util import make_tensor_proto

VERSION = "brain.Event:2"
END = {"finished": api_pb2.STATUS_SUCCESS, "failed": api_pb2.STATUS_FAILURE}
Floats = npt.NDArray[Any]
_files = count()


class EventFile:
    """Writes one event file into `folder`, which is created. Close it, or use it as a context.

    Steps count from 1 over the whole run, 0 is before training; times are seconds since 1970.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        began = time.time()
        name = f"{int(began):010d}.{socket.gethostname()}.{os.getpid()}.{next(_files)}"
        self.path = folder / f"events.out.tfevents.{name}.ganboard"
        self._records = RecordWriter(self.path.open("xb"))
        self._write(Event(wall_time=began, file_version=VERSION))

    def __enter__(self) -> EventFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._records.close()

    def flush(self) -> None:
        self._records.flush()

    def resume(self, step: int, at: float) -> None:
        """What earlier files say of `step` and later ones is void: it is trained again."""
        log = SessionLog(status=SessionLog.START)
        self._write(Event(wall_time=at, step=step, session_log=log))

    def scalars(self, values: Mapping[str, float], step: int, at: float) -> None:
        """By tag; NaN and infinity as they are."""
        self._summary(
            [
                _value(tag, np.float32(value), scalar_metadata.create_summary_metadata("", ""))
                for tag, value in values.items()
            ],
            step,
            at,
        )

    def histogram(self, tag: str, edges: Floats, counts: Floats, step: int, at: float) -> None:
        """Edges [n + 1], counts [n]."""
        buckets = np.stack([edges[:-1], edges[1:], counts], axis=1).astype(np.float64)
        about = histogram_metadata.create_summary_metadata("", "")
        self._summary([_value(tag, buckets, about)], step, at)

    def image(self, tag: str, png: bytes, step: int, at: float) -> None:
        with Image.open(io.BytesIO(png), formats=["PNG"]) as picture:
            width, height = picture.size
        about = image_metadata.create_summary_metadata("", "")
        self._summary([_value(tag, [b"%d" % width, b"%d" % height, png], about)], step, at)

    def text(self, tag: str, markdown: str, step: int, at: float) -> None:
        about = text_metadata.create_summary_metadata("", "")
        self._summary([_value(tag, [markdown.encode()], about)], step, at)

    def settings(self, values: Mapping[str, Any], at: float) -> None:
        """The hyper-parameters of the run, for the tab HParams."""
        plain = (bool, int, float, str)
        known = {
            name: value if isinstance(value, plain) else str(value)
            for name, value in values.items()
            if value is not None
        }
        summary = summary_v2.hparams_pb(known, start_time_secs=at)
        self._write(Event(wall_time=at, summary=summary))

    def ended(self, status: str, at: float) -> None:
        """How the run ended, one of END, for the tab HParams."""
        end = plugin_data_pb2.SessionEndInfo(status=END[status], end_time_secs=at)
        about = hparams_metadata.create_summary_metadata(
            plugin_data_pb2.HParamsPluginData(session_end_info=end)
        )
        tag = hparams_metadata.SESSION_END_INFO_TAG
        self._summary([_value(tag, hparams_metadata.NULL_TENSOR, about)], 0, at)

    def _summary(self, values: list[Summary.Value], step: int, at: float) -> None:
        self._write(Event(wall_time=at, step=step, summary=Summary(value=values)))

    def _write(self, event: Event) -> None:
        self._records.write(event.SerializeToString())


def _value(tag: str, tensor: Any, about: SummaryMetadata) -> Summary.Value:
    encoded = tensor if isinstance(tensor, TensorProto) else make_tensor_proto(tensor)
    return Summary.Value(tag=tag, tensor=encoded, metadata=about)
