"""A sweep: every combination of some settings' values, looked at before anything is stored,
then launched as one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import orjson

from ganboard.db.ids import new_id
from ganboard.db.runs import commands, past_runs
from ganboard.db.runs.runtime_estimation import Estimate, History
from ganboard.gan.config import ConfigError, Plan, RunConfig, parse, parse_value, plan
from ganboard.gan.data import catalog, revision
from ganboard.gan.data.dataset import DatasetError
from ganboard.gan.settings import registry
from ganboard.gan.settings.metadata import defaults
from ganboard.worker.context import Context
from ganboard.worker.errors import BadName
from ganboard.worker.submission import starting
from ganboard.worker.submission.evaluation import Evaluation, as_set, by_default, evaluate_reused
from ganboard.worker.submission.naming import NAME_LENGTH, check_name, name_of, trained, value_text
from ganboard.worker.submission.submit import Machines, call, machines, run_history

# for whoever asks for a sweep
__all__ = ["Evaluation", "as_set", "by_default", "evaluate_reused"]

LIMIT = 200  # runs of one grid
TITLE_LENGTH = NAME_LENGTH // 2  # of what all names begin with; what varies follows

Axes = Mapping[str, Sequence[Any]]  # the values of each setting that varies


@dataclass(frozen=True)
class Member:
    """One combination and the run it would be, or the sentence that says why there can be none."""

    changes: dict[str, Any]  # what sets it apart within its grid
    name: str
    config: RunConfig | None = None
    plan: Plan | None = None
    estimate: Estimate | None = None
    finished: str | None = None  # a finished run with the same settings
    problem: str | None = None

    @property
    def images(self) -> int:
        """Images that pass through training in all."""
        return self.plan.total_steps * self.config.batch_size if self.plan and self.config else 0

    def seconds(self, bound: str = "likely") -> float | None:
        """Estimated seconds of training and beside it: `likely`, `low` or `high`; None where
        nothing near was measured."""
        if self.estimate is None:
            return None
        return float(getattr(self.estimate, bound)) * self.images + (self.estimate.beside or 0.0)


def values(name: str, text: str) -> list[Any]:
    """The values in "32, 64, 128", typed as the setting `name`; commas part text, commas or blanks
    anything else. Raises ConfigError."""
    is_text = any(field.annotation is str for field in registry.declared(name))
    parts = (text if is_text else text.replace(" ", ",")).split(",")
    return typed(name, [part.strip() for part in parts if part.strip()])


def typed(name: str, given: Sequence[Any]) -> list[Any]:
    """Each value checked by itself; none, one that is not allowed or one that comes twice raises
    ConfigError."""
    found: list[Any] = []
    for value in given:
        one = parse_value(name, value)
        if one in found:
            raise ConfigError(f"{name} lists {value_text(one)} twice. Remove one of them.")
        found.append(one)
    if not found:
        raise ConfigError(
            f"{name} has no values. Enter one or more, separated by commas, or do not vary it."
        )
    return found


def axes(assignments: Sequence[str]) -> dict[str, list[Any]]:
    """`["batch_size=32,64", "xla=true,false"]` as settings with their values; raises
    ConfigError."""
    found: dict[str, list[Any]] = {}
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        name = name.strip()
        if not equals or not name:
            raise ConfigError(
                f"{assignment[:80]!r} is not of the form key=value,value, such as batch_size=32,64."
            )
        if name in found:
            raise ConfigError(f"{name[:80]} is varied twice. List all its values once.")
        found[name] = values(name, text)
    return found


def repeated(varied: Axes, base: Mapping[str, Any], seeds: int) -> Axes:
    """The axes with the seed as the last of them, which counts up from that of `base`. Raises
    ConfigError."""
    if seeds == 1:
        return varied
    if "seed" in varied:
        raise ConfigError("seed is already varied. Remove it, or do not use repetitions.")
    first = parse_value("seed", base.get("seed", 0))
    return {**varied, "seed": typed("seed", range(first, first + seeds))}


def members(
    base: Mapping[str, Any],
    varied: Axes,
    *,
    title: str,
    data_dir: Path,
    here: Machines,
    history: History,
    finished: Mapping[bytes, str],
) -> list[Member]:
    """Every combination, the last setting varying fastest. Raises ConfigError for more than LIMIT.

    `base` are the settings that all share, `title` begins every name, and `finished` is of
    `finished_runs`.
    """
    if (total := math.prod(map(len, varied.values()))) > LIMIT:
        raise ConfigError(
            f"This sweep has {total:,} runs; the limit is {LIMIT}. Remove some values or"
            " repetitions."
        )

    @cache
    def examples(data: tuple[tuple[str, Any], ...]) -> int:
        return catalog.count(parse(dict(data)), data_dir)

    def member(changes: dict[str, Any]) -> Member:
        name = name_of(title, changes)
        try:
            config = parse({**base, **changes})
            steps = plan(config, examples(tuple(catalog.data_settings(config).items())))
        except (ConfigError, DatasetError) as error:
            return Member(changes, name, problem=str(error))
        machine = here.able(config)
        if machine is None and (refusal := here.refusal(config)):
            return Member(changes, name, config, problem=refusal)
        stored = config.model_dump(mode="json")
        return Member(
            changes,
            name,
            config,
            steps,
            history.estimate(stored, (machine or {}).get("host")),
            finished.get(digest(stored)),
        )

    return [
        member(dict(zip(varied, combination, strict=True)))
        for combination in product(*varied.values())
    ]


def finished_runs(context: Context, evaluation: Evaluation | None = None) -> dict[bytes, str]:
    """The newest finished run of each configuration, by its digest; with the settings of an
    `evaluation` also those that were trained without any, which can be evaluated now."""
    added = evaluation.settings if evaluation else {}
    found = past_runs.finished_configs(context.engine)[::-1]
    without = [one for one in found if added and not one[1].get("quality_every")]
    also = {digest({**config, **added}, facts): run_id for run_id, config, facts in without}
    return also | {digest(config, facts): run_id for run_id, config, facts in found}


def examine(
    context: Context,
    base: Mapping[str, Any],
    varied: Axes,
    *,
    title: str,
    evaluation: Evaluation | None = None,
) -> list[Member]:
    """`members` with what is stored and what the live workers have; `base` is without the settings
    of the `evaluation`."""
    return members(
        {**base, **(evaluation.settings if evaluation else {})},
        varied,
        title=title,
        data_dir=context.settings.data,
        here=machines(context),
        history=run_history(context),
        finished=finished_runs(context, evaluation),
    )


def launch(
    context: Context, grid: Sequence[Member], *, preset: str = "", parent_id: str | None = None
) -> str:
    """Check, store all in one transaction, enqueue; returns the id of the sweep that they share.

    Raises ConfigError, DatasetError or BadName, and then nothing is stored: for a member with a
    problem, absent data or an empty grid.
    """
    if not grid:
        raise ConfigError("This sweep has no run to launch. Choose other values.")
    runs, checked, here = [], set(), machines(context)
    for member in grid:
        config, problem = member.config, member.problem
        if config is None or problem or (problem := here.refusal(config)):
            raise ConfigError(f"Nothing was launched: {member.name} cannot run. {problem}")
        data = tuple(catalog.data_settings(config).items())
        if data not in checked:
            catalog.check(config, context.settings.data)
            checked.add(data)
        config = starting.checked(context, config)
        runs.append((check_name(member.name), config.model_dump(mode="json")))
    sweep = new_id()
    call(
        context,
        commands.create_runs(
            context.engine,
            runs,
            preset=preset,
            parent_id=parent_id,
            sweep=sweep,
            owner=context.user,
        ),
    )
    return sweep


def check_title(text: str, preset: str, base: Mapping[str, Any]) -> str:
    """What the names of a grid begin with; what is trained when nothing was typed. Raises
    BadName."""
    if text:
        title = check_name(text)
        if len(title) > TITLE_LENGTH:
            raise BadName(
                f"The name has {len(title)} characters; the limit for a sweep is {TITLE_LENGTH},"
                " since settings are appended."
            )
        return title
    return trained(preset, str(base["model"]), str(base["dataset"]))


def totals(grid: Sequence[Member]) -> tuple[float, float, float, int]:
    """Estimated seconds of these runs one after another, (likely, low, high), and how many of them
    have no estimate."""
    known = [member for member in grid if member.estimate is not None]
    likely, low, high = (
        sum(member.seconds(bound) or 0.0 for member in known) for bound in ("likely", "low", "high")
    )
    return likely, low, high, len(grid) - len(known)


def digest(config: Mapping[str, Any], facts: Mapping[str, Any] | None = None) -> bytes:
    """Equal for equal configurations on the same data.

    Settings that a run is too old to know count as their defaults. `facts` are those of a finished
    run; without them the data are those that this version makes.
    """
    data = revision.current(config) if facts is None else revision.recorded(facts)
    values = {**defaults(config), **config, revision.FACT: data}
    return orjson.dumps(values, option=orjson.OPT_SORT_KEYS)
