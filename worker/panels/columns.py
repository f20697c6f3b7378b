"""Columns of the list of runs that a person defines: expressions of one number per run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Engine

from ganboard.db.curves import summaries
from ganboard.db.runs.listing import Listed
from ganboard.gan.events import MEASURES, SERIES
from ganboard.gan.quality.declared import METRICS
from ganboard.gan.settings.metadata import all_defaults
from ganboard.worker.panels.errors import BadPanel
from ganboard.worker.panels.expressions import Expression, parse_column, quoted, summary_of, unknown

COLUMNS = 12  # of this kind in one list
HELP = """\
A column can be any number that is stored of runs, or an expression of them:

| Column | Value |
|---|---|
| `fid`, `last(fid)` | the last value of a metric |
| `min(fid)`, `max(images_per_second)` | its smallest, its largest |
| `batch_size` | a setting that is a number |
| `min(fid) * seconds / epoch` | `+ - * / **`, `log`, `log10`, `exp`, `sqrt`, `abs`, and `min` and \
`max` of several |
"""


def settings() -> dict[str, Any]:
    """The settings that are numbers, with their defaults."""
    return {
        name: default
        for name, default in all_defaults().items()
        if isinstance(default, int | float) and not isinstance(default, bool)
    }


def known(engine: Engine) -> list[str]:
    """The names that a column may use, without settings."""
    return summaries.known(engine, MEASURES)


def offered(names: Sequence[str]) -> list[str]:
    """Columns worth a choice, of the `known` names: of quality the best value, else the last."""
    best = [
        f"{'max' if METRICS[name].better == 'higher' else 'min'}({name})"
        for name in names
        if name in METRICS
    ]
    return [*best, *(quoted(name) for name in names)]


def check(text: str, names: Sequence[str]) -> Expression:
    """The expression of a column; `names` are the `known` ones. Raises BadPanel with one
    sentence."""
    expression = parse_column(text)
    numbers = settings()
    for one in expression.names:
        function, name = summary_of(one)
        if name not in names and name not in numbers:
            raise BadPanel(unknown(name, [*names, *numbers]))
        single = name in summaries.OF_RUNS or name in SERIES or name in numbers
        if function != summaries.LAST and single:
            hint = f", or {function}({name}_mean) of the epochs" if name.endswith("_loss") else ""
            raise BadPanel(f"A column has no {function} of {name}. Write last({name}){hint}.")
    return expression


def evaluate(
    engine: Engine, texts: Sequence[str], runs: Sequence[Listed], run_ids: list[str] | None = None
) -> dict[str, list[float | None]]:
    """The values [runs] of each column, None where there is none; the database is asked for
    `run_ids`, or for all runs where that is cheaper."""
    if not texts:
        return {}
    import numpy as np

    from ganboard.worker.panels import arithmetic

    expressions = {text: parse_column(text) for text in texts}
    asked = {name for one in expressions.values() for name in one.names}
    numbers = settings()
    stored = [summary_of(name) for name in asked if summary_of(name)[1] not in numbers]
    found = summaries.read(engine, stored, MEASURES, run_ids)
    values: Mapping[str, Any] = {
        name: np.array([_value(found, summary_of(name), run) for run in runs], dtype=np.float64)
        for name in asked
    }
    columns = {}
    for text, expression in expressions.items():
        result = arithmetic.evaluate(expression, values).values
        columns[text] = [float(one) if np.isfinite(one) else None for one in result]
    return columns


def by_run(
    engine: Engine, texts: Sequence[str], runs: Sequence[Listed]
) -> dict[str, dict[str, Any]]:
    """Of each run, by its id, the values of columns that are expressions or any setting, such as
    `precision`; None where there is none. Raises BadPanel with one sentence."""
    if len(texts) > COLUMNS:
        raise BadPanel(f"A list has at most {COLUMNS} columns of your own, not {len(texts)}.")
    words = all_defaults().keys() - settings().keys()  # settings that are no numbers
    expressions = [text for text in texts if text not in words]
    names = known(engine) if expressions else []
    for text in expressions:
        check(text, names)
    found = evaluate(engine, expressions, runs, [run.id for run in runs])
    return {
        run.id: {
            text: run.config.get(text) if text in words else found[text][place] for text in texts
        }
        for place, run in enumerate(runs)
    }


def _value(
    found: Mapping[summaries.Summary, Mapping[str, float]], wanted: summaries.Summary, run: Listed
) -> float:
    if wanted in found:
        return found[wanted].get(run.id, float("nan"))
    value = run.config.get(wanted[1])
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if value is not None and is_number else float("nan")
