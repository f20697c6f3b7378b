"""The columns that the table of runs can have: those of its own, and one for every setting."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import pyarrow as pa
import streamlit as st

from ganboard.db.runs import runtime_estimation, trash
from ganboard.db.runs.listing import DISTANCES, Listed
from ganboard.gan.settings.features import CLASSIFIER, LABELS
from ganboard.gan.settings.metadata import all_defaults, all_settings
from ganboard.worker import formatting
from ganboard.worker.figures import palette

column = st.column_config
TEXT, NUMBER = pa.string(), pa.float64()
MOMENT = pa.timestamp("us", "UTC")
ZERO_WIDTH = "\N{ZERO WIDTH SPACE}"
# all that a configuration has, with defaults
SETTINGS = all_defaults()


@dataclass(frozen=True)
class Column:
    """A column: the value of a run, its type for Arrow, and how the browser draws it."""

    value: Callable[[Listed], Any]
    type: pa.DataType
    column_type: Any
    usual: bool = True  # shown by default


def best_fid(features: str) -> str:
    """The name of the column, and of the result, of these features: "Best FID (encoder)"."""
    return "Best FID" if features == CLASSIFIER else f"Best FID ({LABELS[features]})"


def _strategy(config: Mapping[str, Any]) -> str:
    replicas = config.get("replicas", 1)
    name = config.get("strategy", "auto")
    if name == "auto":
        name = "mirrored" if replicas > 1 else "default"
    return f"{name} × {replicas}" if replicas > 1 else str(name)


def _progress(run: Listed) -> float:
    total = (run.steps_per_epoch or 0) * run.config.get("epochs", 0)
    return min(100.0, 100 * run.step / total) if total else 0.0


def _seconds(run: Listed) -> int | None:
    """From the first start to the end; of a run that goes on, `ended_at` is to be the present."""
    if not run.started_at or not run.ended_at:
        return None
    return max(0, int((run.ended_at - run.started_at).total_seconds()))


def _set(name: str) -> Callable[[Listed], Any]:
    """The value of a setting: numbers as they are, the rest in words; None where an older ganboard
    had no such setting."""

    def value(run: Listed) -> Any:
        stored = run.config.get(name)
        if isinstance(stored, bool):
            return "on" if stored else "off"
        return stored

    return value


def _explained(name: str) -> Any:
    """How a setting is drawn, with its reason as the tooltip of its heading."""
    kind = column.NumberColumn if _is_number(name) else column.TextColumn
    return kind(help=all_settings()[name].description)


def _is_number(name: str) -> bool:
    return SETTINGS[name] is None or (
        isinstance(SETTINGS[name], int | float) and not isinstance(SETTINGS[name], bool)
    )


def button_label(name: str) -> str:
    """A name as the label of a button in the table, which would read lists and icons in it."""
    bare = name.strip()
    read = bare.startswith(":material/") or (bare.startswith("[") and bare.endswith("]"))
    return f"{ZERO_WIDTH}{name}" if read else name


_STATES = column.MultiselectColumn(  # one coloured chip; nothing is edited here
    width=104,
    options=[column_type.word for column_type in formatting.STATUS.values()],
    color=[column_type.colour for column_type in formatting.STATUS.values()],
)
# a column for each kind of features: their distances cannot be compared
BEST_FIDS = {
    best_fid(name): Column(
        attrgetter(field),
        NUMBER,
        column.NumberColumn(
            format="%.2f",
            help=(
                f"Lowest Fréchet distance so far, by {LABELS[name]} features: lower is better,"
                " comparable on the same data only"
            ),
        ),
    )
    for name, field in DISTANCES.items()
}
_LOSS = "loss of the latest step during training, then the mean of the last epoch"


def _thumbnail(run: Listed) -> str | None:
    """The address of the newest image grid; the API has nothing of runs in the trash."""
    if run.grid_epoch is None or run.deleted_at is not None:
        return None
    return f"/api/runs/{run.id}/grids/{run.grid_epoch}.png?height={THUMBNAIL}"


THUMBNAIL = 80  # pixels high at most, for screens of two pixels per point
DOTS = [palette.run_dot(number) for number in range(len(palette.CATEGORICAL))]
# begin every row
FIRST = {
    "Colour": Column(
        lambda run: run.number % len(DOTS),
        pa.dictionary(pa.int8(), TEXT),
        column.ImageColumn(" ", width=34, pinned=True, help="The run's colour in every chart"),
    ),
    "Image": Column(
        _thumbnail,
        TEXT,
        column.ImageColumn(" ", width=52, pinned=True, help="The newest generated images"),
    ),
}
COLUMNS: dict[str, Column] = {
    # `table.show` makes buttons of the names
    "Run": Column(lambda run: button_label(run.name), TEXT, None),
    "Status": Column(
        lambda run: [formatting.status_word(run.shown_status)], pa.list_(TEXT), _STATES
    ),
    "Tags": Column(
        lambda run: list(run.tags),
        pa.list_(TEXT),
        column.ListColumn(width=140, help="Labels set by users: select runs, then Tags"),
    ),
    "Progress": Column(
        _progress,
        NUMBER,
        column.ProgressColumn(
            min_value=0,
            max_value=100,
            format="%.0f%%",
            width=116,
            help="Completed share of all steps",
        ),
    ),
    "Epoch": Column(
        lambda run: f"{run.epoch} / {run.config.get('epochs', '?')}",
        TEXT,
        column.TextColumn(width="small", alignment="right", help="Finished and planned epochs"),
    ),
    "G loss": Column(
        lambda run: run.g_loss,
        NUMBER,
        column.NumberColumn(format="%.4f", help=f"Generator: {_LOSS}"),
    ),
    "D loss": Column(
        lambda run: run.d_loss,
        NUMBER,
        column.NumberColumn(format="%.4f", help=f"Discriminator: {_LOSS}"),
    ),
    **BEST_FIDS,
    "s/epoch": Column(
        lambda run: run.seconds / run.epoch if run.epoch else None,
        NUMBER,
        column.NumberColumn(
            format="%.3g",
            help="Training seconds per finished epoch, without tracing and compilation",
        ),
    ),
    "Images/s": Column(
        lambda run: run.images_per_second,
        NUMBER,
        column.NumberColumn(format="%.0f", help=runtime_estimation.RATE),
    ),
    "Data": Column(_set("dataset"), TEXT, _explained("dataset")),
    "Batch": Column(
        _set("batch_size"),
        pa.int64(),
        column.NumberColumn(format="%d", help="Global batch: over all replicas"),
    ),
    "Precision": Column(_set("precision"), TEXT, _explained("precision")),
    "XLA": Column(_set("xla"), TEXT, _explained("xla")),
    "Strategy": Column(
        lambda run: _strategy(run.config),
        TEXT,
        column.TextColumn(help="Distribution strategy and number of replicas"),
    ),
    "Created": Column(
        lambda run: run.created_at,
        MOMENT,
        column.DatetimeColumn(format="distance", help="When it was submitted"),
    ),
    "Duration": Column(
        _seconds,
        pa.duration("s"),
        column.NumberColumn(
            format="compact",
            help="Wall-clock time since the first start, including waiting and compilation",
        ),
    ),
    "Id": Column(
        lambda run: run.id, TEXT, column.TextColumn(help="For the command line: `ganboard show ID`")
    ),
    "Training": Column(
        lambda run: run.seconds or None,
        NUMBER,
        column.NumberColumn(
            format="%.1f s",
            help="Training time of all finished epochs, without compilation and waiting",
        ),
        usual=False,
    ),
    "Sweep": Column(
        lambda run: run.sweep,
        TEXT,
        column.TextColumn(help="The id shared by all runs of a sweep: search for sweep:ID"),
        usual=False,
    ),
    "Preset": Column(
        lambda run: run.preset or None,
        TEXT,
        column.TextColumn(help="The preset that its settings are based on"),
        usual=False,
    ),
    "Note": Column(
        lambda run: formatting.shorten(run.note, 200) if run.note else None,
        TEXT,
        column.TextColumn(width="medium", help="Note written by users"),
        usual=False,
    ),
}
COLUMNS |= {
    name: Column(_set(name), NUMBER if _is_number(name) else TEXT, _explained(name), usual=False)
    for name in SETTINGS
}
# what the trash shows of its runs
OF_TRASH = {name: COLUMNS[name] for name in ("Run", "Status", "Tags", "Epoch")} | {
    "Deleted": Column(
        lambda run: run.deleted_at,
        MOMENT,
        column.DatetimeColumn(format="distance", help="When it was moved to the trash"),
    ),
    "Removal": Column(
        lambda run: run.deleted_at and trash.removed_at(run.deleted_at),
        MOMENT,
        column.DatetimeColumn(
            format="distance", help="When it will be removed, with all its files"
        ),
    ),
    "Id": COLUMNS["Id"],
}
ALL = FIRST | COLUMNS | OF_TRASH
USUAL = tuple(name for name, known in COLUMNS.items() if known.usual)
