"""Event files as TensorBoard itself reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tensorboard.backend.event_processing.plugin_event_multiplexer import EventMultiplexer
from tensorboard.plugins.hparams import metadata
from tensorboard.util.tensor_util import make_ndarray


class Shown:
    """What TensorBoard shows of a folder."""

    def __init__(self, folder: Path) -> None:
        self._runs = EventMultiplexer().AddRunsFromDirectory(str(folder))
        self._runs.Reload()

    @property
    def runs(self) -> list[str]:
        return sorted(self._runs.Runs())

    def tags(self, run: str, plugin: str) -> list[str]:
        found = self._runs.AllSummaryMetadata()[run]
        return sorted(
            tag for tag, about in found.items() if about.plugin_data.plugin_name == plugin
        )

    def points(self, run: str, tag: str) -> list[tuple[int, float, npt.NDArray[Any]]]:
        """Step, time and value of each point."""
        events = self._runs.Tensors(run, tag)
        return [(one.step, one.wall_time, make_ndarray(one.tensor_proto)) for one in events]

    def scalars(self, run: str, tag: str) -> dict[int, float]:
        return {step: float(value) for step, _, value in self.points(run, tag)}

    def steps(self, run: str, tag: str) -> list[int]:
        return [step for step, _, _ in self.points(run, tag)]

    def settings(self, run: str) -> dict[str, Any]:
        content = self._runs.SummaryMetadata(run, metadata.SESSION_START_INFO_TAG)
        start = metadata.parse_session_start_info_plugin_data(content.plugin_data.content)
        return {
            name: getattr(value, value.WhichOneof("kind")) for name, value in start.hparams.items()
        }

    def ended(self, run: str) -> int:
        """The status of the session, as `tensorboard.plugins.hparams.api_pb2` numbers it."""
        content = self._runs.SummaryMetadata(run, metadata.SESSION_END_INFO_TAG)
        end = metadata.parse_session_end_info_plugin_data(content.plugin_data.content)
        return int(end.status)


def f32(values: Any) -> list[float]:
    """As float32 keeps them."""
    return np.asarray(values, np.float32).astype(np.float64).tolist()
