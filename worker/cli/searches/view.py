"""How the command line shows searches over settings."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from ganboard.worker.formatting import clean, decimal, duration
from ganboard.worker.searches.progress import REACHED, Progress
from ganboard.worker.terminal.console import make_console
from ganboard.worker.terminal.runs import STATUS_STYLES

STYLES = {**STATUS_STYLES, REACHED: STATUS_STYLES["finished"]}


def print_searches(found: Sequence[Progress]) -> None:
    """A table of searches."""
    console = make_console()
    if not found:
        console.print("No searches. Start one: ganboard search start --help")
        return
    table = Table("search", "name", "state", "runs", "best", "objective", box=box.SIMPLE_HEAD)
    for one in found:
        table.add_row(
            one.search.id,
            Text(clean(one.search.name)),
            one.search.state,
            f"{one.ended}/{one.search.runs}",
            decimal(one.best[1] if one.best else None),
            one.objective.label,
        )
    console.print(table)


def print_search(one: Progress) -> None:
    """How far it is, the best run, and every trial."""
    search, console = one.search, make_console()
    console.print(Text(f"{clean(search.name)} ({search.id}): {search.state}", style="bold"))
    if search.message:
        console.print(Text(clean(search.message)))
    hours = "" if search.hours is None else f" of {search.hours:g} hours"
    trained = f"{duration(3600 * one.hours)}{hours} of training"
    console.print(f"{one.ended} of {search.runs} runs ended, {trained}. {one.method}.")
    if left := one.seconds_left:
        console.print(f"About {duration(left[0])} left ({left[1]}).")
    table = Table("trial", "run", "state", one.objective.label, box=box.SIMPLE_HEAD)
    for axis in one.space:
        table.add_column(axis.name)
    for trial in one.trials:
        shown = one.state(trial)
        result = one.objective.result(trial)
        so_far = one.objective.value(trial)
        text = decimal(result) if result is not None or so_far is None else f"({so_far:.4g})"
        table.add_row(
            str(trial.number),
            trial.run.id if trial.run else "-",
            Text(shown, style=STYLES.get(shown, "dim")),
            text,
            *(Text(clean(str(trial.params.get(axis.name, "-")))) for axis in one.space),
        )
    console.print(table)
    for trial in one.trials:
        if trial.problem:
            console.print(Text(f"Trial {trial.number}: {clean(trial.problem)}", style="dim"))
    if one.best:
        trial, value = one.best
        console.print(
            f"Best result: trial {trial.number},"
            f" run {trial.run.id if trial.run else '-'}, {one.objective.label} {decimal(value)}."
        )
