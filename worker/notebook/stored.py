"""`ganboard.runs()` and `ganboard.run(...)`: what is stored, to read, draw and compute with."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pandas as pd
import plotly.graph_objects as go
from PIL import Image
from sqlalchemy import Engine

from ganboard.db.curves import logged, series
from ganboard.db.models import ENDED, Run
from ganboard.db.runs import listing, queries
from ganboard.db.runs import search as language
from ganboard.db.settings import Settings
from ganboard.gan.events import SERIES
from ganboard.gan.quality.declared import charts as quality_charts
from ganboard.gan.settings.metadata import all_defaults
from ganboard.worker.context import Context, open_context
from ganboard.worker.figures import histograms, losses, path, quality, rates, timings
from ganboard.worker.figures.template import NETS

# columns of `runs` before the settings
COLUMNS = (
    "name", "status", "preset", "created_at", "epoch", "step", "seconds", "images_per_second",
    "g_loss", "d_loss", "fid", "fid_encoder", "fid_inception", "tags",
)  # fmt: skip


@dataclass(frozen=True)
class Course:
    """Something over the course of a run: `frame` is a pandas DataFrame, `plot()` the figure of the
    run's page, with the options of that figure. A notebook shows the figure."""

    frame: pd.DataFrame
    draw: Callable[..., go.Figure]

    def plot(self, **options: Any) -> go.Figure:
        """The figure, such as `plot(x="time", log_y=True)`."""
        return self.draw(self.frame, **options)

    def _repr_mimebundle_(self, *args: Any, **named: Any) -> Any:
        return self.plot()._repr_mimebundle_(*args, **named)


class StoredRun:
    """A run of the database, read anew with every attribute."""

    def __init__(self, context: Context, run_id: str) -> None:
        self._context, self.id = context, run_id

    def __repr__(self) -> str:
        run = self._run
        return f"<ganboard run {run.id} {run.name!r}: {run.shown_status}, epoch {run.epoch}>"

    @property
    def name(self) -> str:
        """Its name, as shown on the page Runs."""
        return self._run.name

    @property
    def status(self) -> str:
        """queued, starting, running, finished, failed, stopped, suspended or pruned."""
        return self._run.shown_status

    @property
    def ended(self) -> bool:
        """Whether it is finished, failed or stopped."""
        return self._run.status in ENDED

    @property
    def error(self) -> str | None:
        """Why it failed, in a sentence; None if it did not."""
        return self._run.error

    @property
    def settings(self) -> dict[str, Any]:
        """The value of every setting by name, JSON-ready."""
        return dict(self._run.config)

    @property
    def hardware(self) -> dict[str, Any]:
        """Host, processor, devices and versions, as far as it has begun."""
        return dict(self._run.hardware or {})

    @property
    def epoch(self) -> int:
        """Finished epochs."""
        return self._run.epoch

    @property
    def losses(self) -> Course:
        """g_loss and d_loss of every step (at most 2,000, extremes kept)."""
        return Course(series.step_losses(self._engine, self.id), losses.steps)

    @property
    def epochs(self) -> Course:
        """One row per finished epoch: mean losses, seconds, images per second."""
        return Course(series.epochs_frame(self._engine, [self.id]), losses.epochs)

    @property
    def timings(self) -> Course:
        """Where the seconds of each epoch went."""
        done = series.epochs_frame(self._engine, [self.id])
        measured = series.measures_frame(self._engine, [self.id])
        new = [name for name in measured if name not in done or name in ("run_id", "epoch")]
        return Course(done.merge(measured[new], on=["run_id", "epoch"]), timings.seconds)

    @property
    def rates(self) -> Course:
        """Learning rates of every step, as scheduled and effective."""
        return Course(series.step_series(self._engine, self.id, list(SERIES)), rates.rates)

    @property
    def quality(self) -> Course:
        """One row per evaluation; `plot(names=("fid",))` draws others than the model's first."""
        model = quality.model_of(self._run.config)
        names = quality_charts(model)[0]
        frame = series.quality_frame(self._engine, [self.id])

        def draw(frame: pd.DataFrame, names: tuple[str, ...] = names, **options: Any) -> go.Figure:
            return quality.course(frame, names, **{"x": "epoch", **options})

        return Course(frame, draw)

    @property
    def path(self) -> Course:
        """The descent of both networks: `plot(net="g")` or "d"."""
        frame = series.epochs_frame(self._engine, [self.id])

        def draw(frame: pd.DataFrame, net: str = "g", **options: Any) -> go.Figure:
            return path.descent(frame, net=net, **options)

        return Course(frame, draw)

    @property
    def events(self) -> pd.DataFrame:
        """What happened, the oldest first: at, level, text."""
        found = queries.events(self._engine, self.id, limit=None)[::-1]
        return pd.DataFrame([(one.at, one.level, one.text) for one in found], columns=_EVENT)

    def histogram(self, net: str = "g") -> go.Figure:
        """How the losses of the steps of "g" or "d" are spread, epoch by epoch."""
        if net not in {one for one, _, _ in NETS}:
            raise ValueError(f'net={net!r} is neither "g" nor "d".')
        epochs, edges, counts = series.loss_histograms(self._engine, self.id, net=net)
        done = series.epochs_frame(self._engine, [self.id])
        return histograms.density(
            epochs, edges, counts, net=net, mean_epochs=done["epoch"], means=done[f"{net}_loss"]
        )

    def metric(self, name: str) -> Course:
        """A metric that a script logged. Raises KeyError with those that there are."""
        names = logged.names(self._engine, self.id)
        if name not in names:
            raise KeyError(f"{name!r}: run {self.id} has {', '.join(names) or 'no such metrics'}.")
        frame = logged.frame(self._engine, self.id, name)
        return Course(frame, lambda frame, **options: losses.metric(frame, name, **options))

    def image(self, epoch: int | None = None) -> Image.Image:
        """The image grid after an epoch, the newest by default. Raises KeyError without one."""
        known = [one for one in queries.grid_epochs(self._engine, self.id) if one >= 0]
        chosen = epoch if epoch is not None else max(known, default=None)
        grid = None if chosen is None else queries.grid(self._engine, self.id, chosen)
        if grid is None:
            raise KeyError(f"Run {self.id} has no images after epoch {epoch}: it has {known}.")
        return Image.open(io.BytesIO(grid.png), formats=["PNG"])

    def watch(self, seconds: float = 2.0) -> None:
        """Show progress, losses and the newest images in a notebook until the run has ended, anew
        every few seconds; interrupt the cell to stop looking."""
        from ganboard.worker.notebook import live

        live.watch(self, seconds)

    @property
    def _engine(self) -> Engine:
        return self._context.engine

    @property
    def _run(self) -> Run:
        return queries.find_run(self._engine, self.id)


_EVENT = ["at", "level", "text"]


def runs(search: str = "", *, archived: bool = False) -> pd.DataFrame:
    """All runs, the newest first, by id: COLUMNS, then one column for each setting, empty where a
    run has none. `search` is in the language of the page Runs (`batch_size>=128 tag:good`). Raises
    BadSearch, SettingsError and DbError."""
    engine = _opened(Settings()).engine
    listed = [one for one in listing.list_all(engine) if archived or one.archived_at is None]
    found = language.matching(listed, language.parse(search, all_defaults()))
    rows = [
        {
            **{name: getattr(one, name) for name in COLUMNS},
            "status": one.shown_status,
            **{name: value for name, value in one.config.items() if name not in COLUMNS},
        }
        for one in found
    ]
    index = pd.Index([one.id for one in found], name="run", dtype=object)
    return pd.DataFrame(rows, index=index, columns=None if rows else list(COLUMNS))


def run(run_id: str = "latest") -> StoredRun:
    """A run by its id, the beginning of one, or `latest`. Raises UnknownRun, SettingsError and
    DbError."""
    context = _opened(Settings())
    return StoredRun(context, queries.find_run(context.engine, run_id).id)


@lru_cache(maxsize=4)
def _opened(settings: Settings) -> Context:
    return open_context(settings, create=False)
