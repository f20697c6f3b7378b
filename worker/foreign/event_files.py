"""TensorBoard's event files: those of TensorFlow, Keras, PyTorch, and ganboard's own. The files of
one folder are one run, as TensorBoard shows them, but for settings that PyTorch has put into a
folder of their own. Free of TensorFlow.

A file is read up to the first record that is cut off or damaged; `Record.problems` says so.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.compat.tensorflow_stub.errors import DataLossError, OutOfRangeError
from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import PyRecordReader_New
from tensorboard.data_compat import migrate_event
from tensorboard.plugins.hparams import metadata as hparams_metadata
from tensorboard.plugins.hparams.error import HParamsError
from tensorboard.util.tensor_util import make_ndarray

from ganboard.db.runs.external import MAX_BINS
from ganboard.worker.errors import WorkerError
from ganboard.worker.foreign.record import Record
from ganboard.worker.formatting import clean
from ganboard.worker.tensorboard.event_file import END
from ganboard.worker.tensorboard.installed import MARK, folders

MAX_FILE = 4 << 30  # bytes
MAX_RECORDS = 10_000_000  # of one file: their points are held in memory
MAX_TEXTS = 200
SMALL = 1 << 20  # bytes of files that may have settings alone
_SHOWN = ("scalars", "histograms", "images", "text", "hparams")
_HOST = re.compile(r"tfevents\.\d+\.(.+?)(?:\.\d+\.\d+)?(?:\.v2|\.ganboard)?$")


class BadEventFiles(WorkerError):
    """A folder without event files that can be read; the message is one sentence."""


def runs(path: Path) -> Iterator[tuple[str, Record]]:
    """The runs that TensorBoard shows of `path`, with names: one for each folder with event files,
    `_settings` joined with theirs. Folders that have nothing to show are left out, unless none has
    more. Raises BadEventFiles, in one sentence."""
    found = {path.parent: [path]} if path.is_file() else folders(path)
    if not found:
        raise BadEventFiles(f"{path} has no event files: TensorBoard names them *{MARK}*.")
    below: dict[Path, list[Path]] = {}
    for folder in found:
        below.setdefault(folder.parent, []).append(folder)
    empty, joined = [], set()
    for folder, files in found.items():
        if folder in joined:
            continue
        record = _read(folder, files)
        if record.empty:
            nothing = f"{folder} has no scalars, histograms or images."
            empty.append(" ".join([nothing, *record.problems]))
            continue
        if more := _settings({one: found[one] for one in below.get(folder, [])}):
            place, settings = more
            joined.add(place)
            record.join(settings)
        top = path.name or path.resolve().name
        yield top if folder in (path, path.parent) else str(folder.relative_to(path)), record
    if len(empty) == len(found):
        raise BadEventFiles(empty[0])


def _settings(found: Mapping[Path, list[Path]]) -> tuple[Path, Record] | None:
    """The only one of these folders in which `SummaryWriter.add_hparams` has put the settings of
    the run above it."""
    own = []
    for folder, files in found.items():
        with suppress(OSError):  # its own turn says what is wrong with it
            if sum(path.stat().st_size for path in files) <= SMALL:
                record = _read(folder, files)
                own += [(folder, record)] if record.is_settings else []
    return own[0] if len(own) == 1 else None


def _read(folder: Path, files: list[Path]) -> Record:
    """What the files of one folder hold together."""
    host = _HOST.search(files[0].name)
    found = Record(host=host[1] if host else "")
    plugins: dict[str, str] = {}
    others: set[str] = set()
    try:
        for path in files:
            _read_file(path, found, plugins, others, first=path == files[0])
    except OSError as error:
        raise BadEventFiles(
            f"{error.filename or folder} cannot be read ({error.strerror})."
        ) from None
    if others:
        kinds = ", ".join(sorted(map(clean, others)))[:200]
        found.problems.append(f"{folder} also has data that ganboard does not show: {kinds}.")
    return found


def _read_file(
    path: Path, found: Record, plugins: dict[str, str], others: set[str], *, first: bool
) -> None:
    for number, record in enumerate(_records(path, found)):
        if number >= MAX_RECORDS:
            found.problems.append(
                f"{path} has more than {MAX_RECORDS:,} records: what follows is left out."
            )
            return
        if first and number < 2:  # the first names only the format and a time
            found.identity += path.name.encode(errors="replace") + record
        try:
            _add(found, migrate_event(Event.FromString(record)), plugins, others)
        except (DecodeError, HParamsError, TypeError, ValueError, struct.error) as error:
            found.problems.append(
                f"{path} has a record that is no event ({type(error).__name__}): what follows is"
                " left out."
            )
            return


def _records(path: Path, found: Record) -> Iterator[bytes]:
    size = path.stat().st_size
    if path.is_symlink() or not path.is_file() or size > MAX_FILE:
        found.problems.append(
            f"{path} is left out: it is no plain file, or has more than {MAX_FILE >> 30} GiB."
        )
        return
    reader = PyRecordReader_New(str(path))
    end = 0
    try:
        while True:
            try:
                reader.GetNext()
            except OutOfRangeError:
                return
            except (DataLossError, OverflowError, MemoryError):
                found.problems.append(
                    f"{path} is cut off or damaged after {end:,} of {size:,} bytes: what follows is"
                    " left out."
                )
                return
            record = reader.record()
            end += len(record) + 16
            yield record
    finally:
        reader.file_handle.close()


def _add(found: Record, event: Event, plugins: dict[str, str], others: set[str]) -> None:
    at, step = event.wall_time, event.step
    kind = event.WhichOneof("what")
    if not 0 < at < 1e11:
        raise ValueError("no time")
    found.mark(at)
    if kind == "session_log" and event.session_log.status == SessionLog.START:
        found.forget(step)
    if kind == "graph_def":
        others.add("graphs")
    if kind != "summary":
        return
    for value in event.summary.value:
        plugin = value.metadata.plugin_data.plugin_name or plugins.get(value.tag, "")
        plugins[value.tag] = plugin
        if plugin == hparams_metadata.PLUGIN_NAME:
            _add_settings(found, value)
        elif plugin not in _SHOWN:
            others.add(plugin or "unnamed tensors")
        elif step < 0:
            others.add("steps below 0")
        elif not _add_value(found, plugin, value, step, at):
            others.add(f"some {plugin}")


def _add_value(found: Record, plugin: str, value: Summary.Value, step: int, at: float) -> bool:
    """Whether it could be added."""
    tag = value.tag
    if plugin == "scalars":
        number = float(make_ndarray(value.tensor).reshape(-1)[0])
        found.scalars.setdefault(tag, {})[step] = (at, number)
        return True
    if plugin == "histograms":
        buckets = np.asarray(make_ndarray(value.tensor), np.float64)
        if buckets.ndim != 2 or buckets.shape[1] != 3 or not 0 < len(buckets) <= MAX_BINS:
            return False
        edges = np.append(buckets[:, 0], buckets[-1, 1])
        if not np.isfinite(buckets).all() or (np.diff(edges) < 0).any():
            return False
        found.histograms.setdefault(tag, {})[step] = (at, edges, buckets[:, 2])
        return True
    if plugin == "images":
        pictures = list(value.tensor.string_val[2:])  # after width and height
        if pictures:
            found.images.setdefault(tag, {})[step] = (at, pictures)
        return bool(pictures)
    if sum(map(len, found.texts.values())) >= MAX_TEXTS:
        return False
    words = [one.decode(errors="replace") for one in value.tensor.string_val]
    found.texts.setdefault(tag, {})[step] = (at, "\n".join(words))
    return True


def _add_settings(found: Record, value: Summary.Value) -> None:
    content = value.metadata.plugin_data.content
    if value.tag == hparams_metadata.SESSION_START_INFO_TAG:
        start = hparams_metadata.parse_session_start_info_plugin_data(content)
        for name, one in start.hparams.items():
            kind = one.WhichOneof("kind")
            if kind in ("number_value", "string_value", "bool_value"):
                found.settings[name] = _whole(getattr(one, kind))
    elif value.tag == hparams_metadata.SESSION_END_INFO_TAG:
        end = hparams_metadata.parse_session_end_info_plugin_data(content)
        names = {number: name for name, number in END.items()}
        found.status = names.get(end.status, found.status)


def _whole(value: Any) -> str | float | bool:
    """A protobuf has no integers: 64.0 was 64."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value  # type: ignore[no-any-return]
