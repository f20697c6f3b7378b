"""What `ganboard export` wrote, read in on another machine. Nothing of it is trusted, and nothing
unpacked to disk.

A bundle is a folder, or a ZIP of one, with run.json, steps.csv, grids/ and manifest.json, which
holds the digest of every file. All values are checked for type and range, and against each other,
before one transaction stores them.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
from PIL import Image
from pydantic import ValidationError

from ganboard.db.errors import DbError
from ganboard.db.models import (
    Epoch,
    Event,
    Grid,
    Quality,
    Run,
    StepLosses,
    StepSeries,
    SystemSample,
)
from ganboard.db.runs import imports
from ganboard.db.runs.annotations import check_tag
from ganboard.gan import config as configs
from ganboard.gan.config import ConfigError
from ganboard.gan.data.archive import SafeZip
from ganboard.gan.data.dataset import DatasetError
from ganboard.gan.events import QUALITY, SERIES
from ganboard.worker.context import Context
from ganboard.worker.errors import BadName, WorkerError
from ganboard.worker.interchange.schema import (
    MAX_FILES,
    EpochDocument,
    Manifest,
    Number,
    RunDocument,
)
from ganboard.worker.submission.submit import check_name

FORMAT = 1
MANIFEST = "manifest.json"
MAX_JSON = 128 << 20  # bytes of run.json or manifest.json
MAX_TABLE = 512 << 20
MAX_GRID = 16 << 20
MAX_SIDE = 4096  # pixels of a grid
_FILE = re.compile(
    r"(run\.json|(epochs|steps|quality|events|samples)\.csv|train\.log|grids/(real|epoch-\d{4,6})\.png)"
)


class BadBundle(WorkerError):
    """A bundle that is refused; the message is one sentence."""


def write_manifest(directory: Path, files: Iterable[Path]) -> Path:
    """manifest.json of an export: the SHA-256 of every file, by its place in `directory`."""
    digests = {
        path.relative_to(directory).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }
    path = directory / MANIFEST
    path.write_bytes(orjson.dumps({"format": FORMAT, "files": digests}, option=orjson.OPT_INDENT_2))
    return path


def read_in(context: Context, path: Path) -> Run:
    """Store the run that a bundle holds, under its own id. Raises BadBundle, in one sentence,
    before anything is stored."""
    if not path.exists():
        raise BadBundle(
            f"There is no {path}: name a folder that `ganboard export` wrote, or a ZIP of one."
        )
    with ExitStack() as stack:
        try:
            content = _Content(path, stack)
            return _store(context, content, path)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"]))[:80]
            given = repr(first["input"])[:60]
            raise BadBundle(
                f"{path} is refused: {where} is {given}, but"
                f" {first['msg'][0].lower()}{first['msg'][1:]}."
            ) from None
        except DatasetError as error:
            raise BadBundle(str(error)) from None
        except OSError as error:
            raise BadBundle(
                f"{error.filename or path} cannot be read ({error.strerror or error}): name a"
                " folder or ZIP of `ganboard export`."
            ) from None


class _Content:
    """The files of a bundle, each read under a limit and checked against its digest."""

    def __init__(self, path: Path, stack: ExitStack) -> None:
        self.path = path
        self._read: Callable[[str, int], bytes]
        if path.is_dir():
            names = self._in_folder()
            self._read = self._read_file
        else:
            archive = stack.enter_context(SafeZip(path))
            names, self._read = self._in_archive(archive)
        if MANIFEST not in names:
            raise BadBundle(
                f"{path} has no {MANIFEST}: only what `ganboard export` of this version wrote can"
                " be read in."
            )
        manifest = Manifest.model_validate_json(self._read(MANIFEST, MAX_JSON))
        if manifest.format != FORMAT:
            raise BadBundle(
                f"{path} has format {manifest.format}, this ganboard reads {FORMAT}: use the"
                " version that wrote it."
            )
        self.digests = manifest.files
        for name in (names | set(self.digests)) - {MANIFEST}:
            if not _FILE.fullmatch(name):
                raise BadBundle(f"{path} is refused: {name[:80]!r} is no file of an export.")
            if name not in self.digests or name not in names:
                raise BadBundle(
                    f"{path} is refused: {name} is missing or not in its {MANIFEST}: export it"
                    " again."
                )
        if {"run.json", "steps.csv"} - names:
            raise BadBundle(
                f"{path} is refused: run.json or steps.csv is missing: export it again."
            )

    def read(self, name: str, limit: int) -> bytes:
        """Raises BadBundle when the digest is another one."""
        data = self._read(name, limit)
        if hashlib.sha256(data).hexdigest() != self.digests[name]:
            raise BadBundle(
                f"{self.path} is refused: {name} was changed after the export, its digest is"
                " another one. Export it again."
            )
        return data

    def _in_folder(self) -> set[str]:
        names = set()
        for file in self.path.rglob("*"):
            if file.is_symlink():
                raise BadBundle(f"{self.path} is refused: {file.name[:80]!r} is a link.")
            if not file.is_dir():
                names.add(file.relative_to(self.path).as_posix())
            if len(names) > MAX_FILES:
                raise BadBundle(
                    f"{self.path} holds more than {MAX_FILES:,} files: name a folder of `ganboard"
                    " export`."
                )
        return names

    def _read_file(self, name: str, limit: int) -> bytes:
        with (self.path / name).open("rb") as file:
            return self._limited(name, file.read(limit + 1), limit)

    def _in_archive(self, archive: SafeZip) -> tuple[set[str], Callable[[str, int], bytes]]:
        """Names without the folder that all of them lie in."""
        tops = {PurePosixPath(name).parts[0] for name in archive.members}
        folder = (
            f"{tops.pop()}/"
            if len(tops) == 1 and all("/" in name for name in archive.members)
            else ""
        )

        def read(name: str, limit: int) -> bytes:
            size = archive.members[folder + name].file_size
            if size > limit:
                return self._limited(name, bytes(limit + 1), limit)
            return archive.read(folder + name)

        return {name.removeprefix(folder) for name in archive.members}, read

    def _limited(self, name: str, data: bytes, limit: int) -> bytes:
        if len(data) > limit:
            raise BadBundle(
                f"{self.path} is refused: {name} is larger than the {limit:,} bytes allowed."
            )
        return data


def _store(context: Context, content: _Content, path: Path) -> Run:
    document = RunDocument.model_validate_json(content.read("run.json", MAX_JSON))
    try:
        config = configs.parse(document.config)
        name = check_name(document.name)
        tags = [check_tag(tag) for tag in document.tags]
    except (ConfigError, BadName, DbError) as error:
        raise BadBundle(f"{path} is refused: {error}") from None
    _agree(document, config.epochs, path)
    common = document.model_dump(
        include={
            "id", "status", "preset", "note", "created_at", "queued_at", "started_at", "ended_at", "attempt", "error",
            "examples",
            "steps_per_epoch", "g_parameters", "d_parameters", "epoch", "step", "images_per_second",
        }
    )  # fmt: skip
    hardware = document.hardware.model_dump(exclude_unset=True) if document.hardware else None
    facts = {
        **document.facts.model_dump(exclude_unset=True),
        imports.IMPORTED: datetime.now(UTC).isoformat(timespec="seconds"),
    }
    seconds = _number(document.seconds)
    run = Run(
        **common,
        name=name,
        # typed, and no setting more than it had
        config={name: config.model_dump(mode="json")[name] for name in document.config},
        hardware=hardware,
        facts=facts,
        seconds=seconds,
        g_loss=document.g_loss_hex,
        d_loss=document.d_loss_hex,
    )
    rows = [*_rows(document, content), *_steps(document, content)]
    return imports.insert(context.engine, run, rows, tags, f"Imported from {path.name[:100]}.")


def _agree(document: RunDocument, epochs: int, path: Path) -> None:
    """What one export cannot contradict itself in."""
    if [one.epoch for one in document.epochs] != list(range(1, document.epoch + 1)):
        raise BadBundle(
            f"{path} is refused: it has {len(document.epochs)} epochs and says that"
            f" {document.epoch} are finished."
        )
    listed: dict[str, list[Any]] = {
        "evaluation": [one.epoch for one in document.quality],
        "grid": [one.epoch for one in document.grids],
    }
    for what, keys in {
        **listed,
        "sample of the machine": [one.at for one in document.samples],
    }.items():
        if len(set(keys)) < len(keys):
            raise BadBundle(f"{path} is refused: it holds the same {what} twice.")
    if document.status == "finished" and document.epoch != epochs:
        raise BadBundle(
            f"{path} is refused: the run is finished after {document.epoch} epochs, but its"
            f" settings ask for {epochs}."
        )
    if any(one.steps != document.steps_per_epoch for one in document.epochs):
        raise BadBundle(
            f"{path} is refused: an epoch has not the {document.steps_per_epoch} steps that the run"
            " says."
        )
    if document.epochs and document.step == document.epoch * (document.steps_per_epoch or 0):
        last = document.epochs[-1]
        if not (
            _same(last.g_loss_hex, document.g_loss_hex)
            and _same(last.d_loss_hex, document.d_loss_hex)
        ):
            raise BadBundle(f"{path} is refused: the run's losses are not those of its last epoch.")


def _same(a: Number, b: Number) -> bool:
    """Equal, or both not a number."""
    return a == b or (a != a and b != b)


def _number(value: Number) -> float:
    return float("nan") if value is None else value


def _rows(document: RunDocument, content: _Content) -> Iterator[Any]:
    for one in document.epochs:
        path: dict[str, Any] = {
            name: _number(getattr(one, name)) for name in ("g_x", "g_y", "d_x", "d_y")
        }
        plain = one.model_dump(
            include={
                "epoch",
                "attempt",
                "finished_at",
                "steps",
                "images",
                "seconds",
                "compile_seconds",
                "measures",
            }
        )
        yield Epoch(
            run_id=document.id, g_loss=one.g_loss_hex, d_loss=one.d_loss_hex, **plain, **path
        )
    for evaluated in document.quality:
        plain = evaluated.model_dump(
            include={
                "epoch",
                "attempt",
                "made_at",
                "seconds",
                "training_seconds",
                "preparation_seconds",
                *QUALITY,
            }
        )
        yield Quality(
            run_id=document.id, histogram=np.array(evaluated.histogram, np.float32), **plain
        )
    for event in document.events:
        yield Event(run_id=document.id, **event.model_dump())
    for sample in document.samples:
        yield SystemSample(run_id=document.id, **sample.model_dump())
    for grid in document.grids:
        if grid.file not in content.digests:
            raise BadBundle(f"{content.path} is refused: {grid.file} is missing: export it again.")
        png = content.read(grid.file, MAX_GRID)
        _check_png(png, grid.file, content.path)
        yield Grid(run_id=document.id, png=png, **grid.model_dump())


def _check_png(data: bytes, name: str, path: Path) -> None:
    """Decode it whole, so that no page ever meets what only looks like a picture."""
    try:
        with Image.open(io.BytesIO(data), formats=["PNG"]) as image:
            if max(image.size) > MAX_SIDE:
                raise BadBundle(
                    f"{path} is refused: {name} has more than {MAX_SIDE:,} pixels a side."
                )
            image.load()
    except BadBundle:
        raise
    except Exception as error:  # parsers of foreign formats raise far more kinds than they document
        raise BadBundle(
            f"{path} is refused: {name} is no readable PNG ({type(error).__name__})."
        ) from None


def _steps(document: RunDocument, content: _Content) -> Iterator[Any]:
    """The losses and series of every epoch; their float64 means must be the epochs' losses to the
    bit."""
    text = io.TextIOWrapper(
        io.BytesIO(content.read("steps.csv", MAX_TABLE)), encoding="utf-8", newline=""
    )
    refused = f"{content.path} is refused: steps.csv"
    try:
        reader = csv.reader(text)
        names = next(reader, [])
        places = {
            name: names.index(name)
            for name in ("epoch", "g_loss", "d_loss", *SERIES)
            if name in names
        }
        epochs: dict[int, list[list[float]]] = {}
        for line in reader:
            values = [
                float(line[place]) if line[place] else float("nan") for place in places.values()
            ]
            epochs.setdefault(int(values[0]), []).append(values[1:])
    except (ValueError, IndexError, csv.Error, UnicodeDecodeError) as error:
        raise BadBundle(
            f"{refused} cannot be read ({type(error).__name__}): export it again."
        ) from None
    if {"epoch", "g_loss", "d_loss"} - set(places):
        raise BadBundle(f"{refused} has not the columns epoch, g_loss and d_loss.")
    per_epoch = document.steps_per_epoch or 0
    attempts = {one.epoch: one.attempt for one in document.epochs}
    if sorted(epochs) != list(range(1, len(epochs) + 1)) or len(epochs) not in (
        document.epoch,
        document.epoch + 1,
    ):
        raise BadBundle(f"{refused} has {len(epochs)} epochs, run.json has {document.epoch}.")
    for epoch, lines in epochs.items():
        columns: dict[str, npt.NDArray[np.float32]] = {
            name: np.array(column, np.float32)
            for name, column in zip(list(places)[1:], zip(*lines, strict=True), strict=True)
        }
        if len(lines) > per_epoch or (epoch <= document.epoch and len(lines) != per_epoch):
            raise BadBundle(
                f"{refused} has {len(lines)} steps in epoch {epoch}, run.json {per_epoch} in each."
            )
        attempt = attempts.get(epoch, document.attempt)
        if epoch <= document.epoch:
            _same_means(document.epochs[epoch - 1], columns, refused)
        g_losses, d_losses = columns.pop("g_loss"), columns.pop("d_loss")
        yield StepLosses(
            run_id=document.id, epoch=epoch, attempt=attempt, g_losses=g_losses, d_losses=d_losses
        )
        for name, series in columns.items():
            if not np.isnan(series).all():
                yield StepSeries(
                    run_id=document.id, epoch=epoch, name=name, attempt=attempt, values=series
                )


def _same_means(
    document: EpochDocument, columns: dict[str, npt.NDArray[np.float32]], refused: str
) -> None:
    for net, loss in (("g", document.g_loss_hex), ("d", document.d_loss_hex)):
        mean = float(columns[f"{net}_loss"].mean(dtype=np.float64))
        if not _same(mean, loss):
            raise BadBundle(
                f"{refused} gives {net.upper()} a mean loss of {mean!r} in epoch {document.epoch},"
                f" run.json {loss!r}."
            )
