"""The compared runs and the result: a short summary and one row of metrics per run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import streamlit as st
from sqlalchemy import Engine

from ganboard.app import navigation
from ganboard.app.compare.grouping import Grouping
from ganboard.db.curves import series
from ganboard.db.models import Run
from ganboard.db.runs import queries, runtime_estimation
from ganboard.gan.quality.declared import METRICS
from ganboard.gan.settings.features import Source, conflict, recorded, was_evaluated
from ganboard.worker import formatting
from ganboard.worker.comparison import stored
from ganboard.worker.figures import compare
from ganboard.worker.figures.palette import run_swatch
from ganboard.worker.figures.quality import headline

HOW = (
    "Speed: the ratio of the median images per second over all finished epochs, without"
    " compilation. Speeds within 2 %, or within twice the standard error if that is larger, count"
    " as equal. Quality: the FID after the last epoch at which both runs were evaluated; FIDs by"
    " different features are not compared. It counts as equal if it differs by less than twice its"
    " spread between neighbouring evaluations, or by less than 10 % with fewer than five"
    " evaluations. There is one run of each configuration; another seed may change the quality by"
    " more."
)

ROWS = 10  # of a table that is not scrolled
Arrays = dict[str, npt.NDArray[np.float64]]


@dataclass(frozen=True)
class Compared:
    """The runs of a comparison, in the order of the URL, and the one that the others are measured
    against."""

    runs: list[Run]
    baseline: Run
    grouping: Grouping | None = None  # in the tabs with curves

    @property
    def ids(self) -> list[str]:
        return [run.id for run in self.runs]

    @property
    def source(self) -> Source:
        """The features of the baseline, or of the first run that is evaluated if it is not."""
        return stored.source(self.runs, self.baseline)

    def headline(self, evaluated: pd.DataFrame) -> str:
        """The main metric of the baseline's model, or of the first run whose main metric was
        measured if that one was not; `evaluated` is of `db.curves.series.quality_frame`."""
        names = [headline(run.config) for run in (self.baseline, *self.runs)]
        return next((name for name in names if evaluated[name].notna().any()), names[0])

    def comparable(self, measure: str) -> list[Run]:
        """The runs whose values of a metric come from the features `source`."""
        return stored.comparable(self.runs, self.baseline, measure)

    def conflict(self, measure: str) -> str | None:
        """Why the values of a metric cannot be compared between all runs, in one sentence; None if
        they can."""
        metric = METRICS[measure]
        evaluated = [run for run in self.runs if was_evaluated(run.facts)]
        sources = [self.source, *(recorded(run.facts) for run in evaluated)]
        return conflict(metric.label, sources) if metric.by_features else None

    def called(self, measure: str) -> str:
        """The label of a metric with the features `source`."""
        return METRICS[measure].called(self.source)

    def labels(self) -> dict[str, str]:
        """A name for each run, with its id where names repeat."""
        return stored.unique_names(self.runs)

    def series(self) -> list[compare.Series]:
        labels = self.labels()
        return [compare.Series(run.id, labels[run.id], run.number) for run in self.runs]

    def few(self) -> Compared:
        """The baseline and the first others, as many as fit side by side."""
        others = [run for run in self.runs if run is not self.baseline]
        kept = {run.id for run in [self.baseline, *others][: navigation.SIDE_BY_SIDE]}
        return replace(self, runs=[run for run in self.runs if run.id in kept])


def by_run(compared: Compared, frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The rows of each run of a frame with a column run_id; none for runs that it lacks."""
    return dict.fromkeys(compared.ids, frame.iloc[:0]) | {
        str(run_id): rows for run_id, rows in frame.groupby("run_id")
    }


def draw_head(engine: Engine, compared: Compared) -> None:
    """The summary of the comparison, and one row of metrics per run."""
    measure = headline(compared.baseline.config)
    epochs, evaluated = (
        series.speeds(engine, compared.ids),
        series.evaluated(engine, compared.ids, measure),
    )
    draw_conclusion(compared, epochs, evaluated, queries.database_time(engine))
    draw_summary(compared, epochs, evaluated)


def draw_conclusion(compared: Compared, epochs: Arrays, evaluated: Arrays, now: datetime) -> None:
    """The sentences; `epochs` are of `db.curves.series.speeds`, `evaluated` of
    `db.curves.series.evaluated`."""
    said = stored.conclusion(compared.runs, compared.baseline, epochs, evaluated, now)
    with st.container(border=True, key="conclusion", gap="xsmall"):
        st.markdown(f"**{formatting.escape(said.headline)}**", help=HOW)
        for remark in said.remarks[:1]:
            st.caption(f":material/info: {formatting.escape(remark)}")
        more = said.remarks[1:]
        if said.each or more:
            caveats = formatting.plural(len(more), "more caveat") if more else ""
            each = "each run against the baseline" if said.each else ""
            label = " and ".join(filter(None, (each, caveats))).capitalize()
            with st.expander(label, key="each", type="compact"):
                st.markdown("\n".join(f"- {formatting.escape(sentence)}" for sentence in said.each))
                for remark in more:
                    st.caption(f":material/info: {formatting.escape(remark)}")


def draw_summary(compared: Compared, epochs: Arrays, evaluated: Arrays) -> None:
    """One row per run: what it is, what it cost, what it reached."""
    labels, measure = compared.labels(), headline(compared.baseline.config)
    speed, best = stored.medians(epochs), f"Best {compared.called(measure)}"
    comparable = {run.id for run in compared.comparable(measure)}
    finite = {
        run_id: found[np.isfinite(found[:, 1]) & (run_id in comparable), 1]
        for run_id, found in evaluated.items()
    }
    rows = [
        {
            "": run_swatch(run.number),
            "Run": labels[run.id],
            "Status": formatting.status_word(run.shown_status),
            "Epochs": f"{run.epoch} of {run.config.get('epochs', '?')}",
            "Training": formatting.duration(run.seconds or None),
            "Median per epoch": formatting.duration(speed[run.id][0]),
            "Images/s": formatting.rate(run.images_per_second),
            best: formatting.decimal(
                finite[run.id].min() if len(finite[run.id]) else None, METRICS[measure].digits
            ),
            "Generator loss": formatting.decimal(run.g_loss),
            "Discriminator loss": formatting.decimal(run.d_loss),
            "Baseline": "●" if run.id == compared.baseline.id else "",
        }
        for run in compared.runs
    ]
    runs_table(
        rows,
        key="summary",
        meanings={
            "Epochs": "Finished and planned epochs",
            "Training": "Training time of all finished epochs, without compilation and waiting",
            "Median per epoch": "Median over the finished epochs, without compilation",
            "Images/s": runtime_estimation.RATE,
            best: f"Lowest of all evaluations, for runs with these features."
            f" {METRICS[measure].meaning}",
            "Generator loss": "Mean of the last epoch, or the latest step during training",
            "Discriminator loss": "Mean of the last epoch, or the latest step during training",
            "Baseline": "The run that ratios refer to",
        },
    )


def runs_table(rows: list[dict[str, str]], *, key: str, meanings: dict[str, str]) -> None:
    """A row per run; the column without a name has its `run_swatch`, `meanings` explain others."""
    st.dataframe(
        pa.table({name: [row[name] for row in rows] for name in rows[0]}),
        hide_index=True,
        height="content" if len(rows) <= ROWS else 38 + 36 * ROWS,
        key=key,
        column_config={
            "": st.column_config.ImageColumn(
                width=56, help="Colour and line style of the run in all figures"
            ),
            **{
                name: st.column_config.TextColumn(help=meaning)
                for name, meaning in meanings.items()
            },
        },
    )
