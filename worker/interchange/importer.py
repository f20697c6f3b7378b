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
from ganboard.worker.interchange.schema import MAX_FILES, Manifest, Number, ToldEpoch, ToldRun
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
    told = ToldRun.model_validate_json(content.read("run.json", MAX_JSON))
    try:
        config = configs.parse(told.config)
        name = check_name(told.name)
        tags = [check_tag(tag) for tag in told.tags]
    except (ConfigError, BadName, DbError) as error:
        raise BadBundle(f"{path} is refused: {error}") from None
    _agree(told, config.epochs, path)
    common = told.model_dump(
        include={
            "id", "status", "preset", "note", "created_at", "queued_at", "started_at", "ended_at", "attempt", "error",
            "examples",
            "steps_per_epoch", "g_parameters", "d_parameters", "epoch", "step", "images_per_second",
        }
    )  # fmt: skip
    hardware = told.hardware.model_dump(exclude_unset=True) if told.hardware else None
    facts = {
        **told.facts.model_dump(exclude_unset=True),
        imports.IMPORTED: datetime.now(UTC).isoformat(timespec="seconds"),
    }
    seconds = _number(told.seconds)
    run = Run(
        **common,
        name=name,
        # typed, and no setting more than it had
        config={name: config.model_dump(mode="json")[name] for name in told.config},
        hardware=hardware,
        facts=facts,
        seconds=seconds,
        g_loss=told.g_loss_hex,
        d_loss=told.d_loss_hex,
    )
    rows = [*_rows(told, content), *_steps(told, content)]
    return imports.insert(context.engine, run, rows, tags, f"Imported from {path.name[:100]}.")


def _agree(told: ToldRun, epochs: int, path: Path) -> None:
    """What one export cannot contradict itself in."""
    if [one.epoch for one in told.epochs] != list(range(1, told.epoch + 1)):
        raise BadBundle(
            f"{path} is refused: it tells of {len(told.epochs)} epochs and says that {told.epoch}"
            " are finished."
        )
    listed: dict[str, list[Any]] = {
        "judgement": [one.epoch for one in told.quality],
        "grid": [one.epoch for one in told.grids],
    }
    for what, keys in {**listed, "sample of the machine": [one.at for one in told.samples]}.items():
        if len(set(keys)) < len(keys):
            raise BadBundle(f"{path} is refused: it holds the same {what} twice.")
    if told.status == "finished" and told.epoch != epochs:
        raise BadBundle(
            f"{path} is refused: the run is finished after {told.epoch} epochs, but its settings"
            f" ask for {epochs}."
        )
    if any(one.steps != told.steps_per_epoch for one in told.epochs):
        raise BadBundle(
            f"{path} is refused: an epoch has not the {told.steps_per_epoch} steps that the run"
            " says."
        )
    if told.epochs and told.step == told.epoch * (told.steps_per_epoch or 0):
        last = told.epochs[-1]
        if not (
            _same(last.g_loss_hex, told.g_loss_hex) and _same(last.d_loss_hex, told.d_loss_hex)
        ):
            raise BadBundle(f"{path} is refused: the run's losses are not those of its last epoch.")


def _same(a: Number, b: Number) -> bool:
    """Equal, or both not a number."""
    return a == b or (a != a and b != b)


def _number(value: Number) -> float:
    return float("nan") if value is None else value


def _rows(told: ToldRun, content: _Content) -> Iterator[Any]:
    for one in told.epochs:
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
        yield Epoch(run_id=told.id, g_loss=one.g_loss_hex, d_loss=one.d_loss_hex, **plain, **path)
    for judged in told.quality:
        plain = judged.model_dump(
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
        yield Quality(run_id=told.id, histogram=np.array(judged.histogram, np.float32), **plain)
    for event in told.events:
        yield Event(run_id=told.id, **event.model_dump())
    for sample in told.samples:
        yield SystemSample(run_id=told.id, **sample.model_dump())
    for grid in told.grids:
        if grid.file not in content.digests:
            raise BadBundle(f"{content.path} is refused: {grid.file} is missing: export it again.")
        png = content.read(grid.file, MAX_GRID)
        _check_png(png, grid.file, content.path)
        yield Grid(run_id=told.id, png=png, **grid.model_dump())


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


def _steps(told: ToldRun, content: _Content) -> Iterator[Any]:
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
    per_epoch = told.steps_per_epoch or 0
    attempts = {one.epoch: one.attempt for one in told.epochs}
    if sorted(epochs) != list(range(1, len(epochs) + 1)) or len(epochs) not in (
        told.epoch,
        told.epoch + 1,
    ):
        raise BadBundle(f"{refused} tells of {len(epochs)} epochs, run.json of {told.epoch}.")
    for epoch, lines in epochs.items():
        columns: dict[str, npt.NDArray[np.float32]] = {
            name: np.array(column, np.float32)
            for name, column in zip(list(places)[1:], zip(*lines, strict=True), strict=True)
        }
        if len(lines) > per_epoch or (epoch <= told.epoch and len(lines) != per_epoch):
            raise BadBundle(
                f"{refused} has {len(lines)} steps in epoch {epoch}, run.json {per_epoch} in each."
            )
        attempt = attempts.get(epoch, told.attempt)
        if epoch <= told.epoch:
            _same_means(told.epochs[epoch - 1], columns, refused)
        g_losses, d_losses = columns.pop("g_loss"), columns.pop("d_loss")
        yield StepLosses(
            run_id=told.id, epoch=epoch, attempt=attempt, g_losses=g_losses, d_losses=d_losses
        )
        for name, series in columns.items():
            if not np.isnan(series).all():
                yield StepSeries(
                    run_id=told.id, epoch=epoch, name=name, attempt=attempt, values=series
                )


def _same_means(told: ToldEpoch, columns: dict[str, npt.NDArray[np.float32]], refused: str) -> None:
    for net, loss in (("g", told.g_loss_hex), ("d", told.d_loss_hex)):
        mean = float(columns[f"{net}_loss"].mean(dtype=np.float64))
        if not _same(mean, loss):
            raise BadBundle(
                f"{refused} gives {net.upper()} a mean loss of {mean!r} in epoch {told.epoch},"
                f" run.json {loss!r}."
            )
