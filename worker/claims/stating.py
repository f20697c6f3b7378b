"""Stating a claim: what was typed is checked whole, shown with its cost, and stored."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ganboard.db.claims import records
from ganboard.db.models import StatedClaim
from ganboard.gan import presets
from ganboard.gan.config import ConfigError, RunConfig, diff, parse_assignments, parse_value
from ganboard.gan.data import catalog
from ganboard.gan.settings.metadata import defaults
from ganboard.worker.claims import statement
from ganboard.worker.claims.limits import FIRST_LOOK, MAX_PAIRS
from ganboard.worker.claims.statement import RATE, SECONDS_TO, SPEED, Condition
from ganboard.worker.context import Context
from ganboard.worker.formatting import duration
from ganboard.worker.submission import evaluation, naming, starting, sweep
from ganboard.worker.submission.evaluation import EVERY

DEFAULT_PAIRS, DEFAULT_CONFIDENCE, DEFAULT_POWER = 10, 0.95, 0.8
MAX_HOURS = 24.0 * 30
NO_RUNNER = (
    "No claims process is running, so no run is submitted. `ganboard up` starts one; elsewhere"
    " run `ganboard claims work`."
)


@dataclass(frozen=True)
class Asked:
    """A claim as a person gives it."""

    sentence: str
    against: Sequence[str]  # KEY=VALUE, what the control has instead
    settings: Sequence[str] = ()  # KEY=VALUE, of both unless `against` says otherwise
    preset: str = ""
    pairs: int = DEFAULT_PAIRS
    hours: float | None = None
    confidence: float = DEFAULT_CONFIDENCE
    power: float = DEFAULT_POWER
    seed: int = 0


@dataclass(frozen=True)
class Prepared:
    """A claim that can be stored, and what testing it may take."""

    claim: StatedClaim
    conditions: list[Condition]
    evaluation: str  # a sentence
    members: list[sweep.Member] = field(default_factory=list)  # all runs of the budget

    @property
    def cost(self) -> str:
        """At most how many runs, and how long they take, with where that is known from."""
        count = len(self.members)
        likely, low, high, unknown = sweep.totals(self.members)
        until = f" No pair starts after {self.claim.hours:g} h." if self.claim.hours else ""
        if unknown:
            return (
                f"At most {count} runs; no estimate of their time, nothing similar ran here.{until}"
            )
        bases = list(dict.fromkeys(one.estimate.basis for one in self.members if one.estimate))
        span = duration(likely) if high < 1.1 * low else f"{duration(low)} to {duration(high)}"
        return f"At most {count} runs, about {span} in sequence ({'; '.join(bases)}).{until}"


def prepare(context: Context, asked: Asked) -> Prepared:
    """Check everything. Raises ConfigError, DatasetError or BadName with one sentence."""
    _check_numbers(asked)
    base = {
        **(presets.values(asked.preset) if asked.preset else {}),
        **parse_assignments(list(asked.settings)),
    }
    instead = parse_assignments(list(asked.against))
    _check_difference(asked, base, instead)
    whole = {**defaults(base), **base}
    for name, value in instead.items():
        parse_value(name, value)
        if name not in whole:
            raise ConfigError(f"{name} has no meaning for model={whole['model']}.")
    conditions = statement.parse(asked.sentence, str(whole["model"]))
    if instead.get("model", whole["model"]) != whole["model"]:
        raise ConfigError("Treatment and control must train the same model.")
    added, said = _evaluation(context, base, instead, conditions)
    title = naming.trained(asked.preset, str(whole["model"]), str(whole["dataset"]))
    own = {name: whole[name] for name in instead}
    seeds = {"seed": sweep.typed("seed", range(asked.seed, asked.seed + asked.pairs))}
    arms = {
        records.CONTROL: ({**base, **instead, **added}, instead),
        records.TREATMENT: ({**base, **added}, own),
    }
    members, configs, names = [], {}, {}
    for arm, (settings, words) in arms.items():
        names[arm] = naming.name_of(title, words)
        found = sweep.examine(context, settings, seeds, title=names[arm])
        configs[arm] = _checked(context, found[0], arm)
        members += found
    treatment, control = configs[records.TREATMENT], configs[records.CONTROL]
    if not diff(treatment.model_dump(), control.model_dump()):
        raise ConfigError(
            "Treatment and control have the same settings. Give the control another value."
        )
    _check_epochs(conditions, configs)
    claim = StatedClaim(
        owner=context.user,
        statement=statement.canonical(conditions),
        treatment=treatment.model_dump(mode="json"),
        control=control.model_dump(mode="json"),
        given={
            "preset": asked.preset,
            "settings": list(asked.settings),
            "against": list(asked.against),
            "names": names,
        },
        seed=asked.seed,
        pairs=asked.pairs,
        hours=asked.hours,
        confidence=asked.confidence,
        power=asked.power,
    )
    return Prepared(claim, conditions, said, members)


def state(context: Context, asked: Asked) -> StatedClaim:
    """Check and store a claim; the process of claims then submits its runs, one after another.
    Raises as `prepare`."""
    return records.store(context.engine, prepare(context, asked).claim)


def title(claim: StatedClaim) -> str:
    """What is compared with what, in a few words."""
    names = claim.given.get("names", {})
    return f"{names.get(records.TREATMENT, '?')} against {names.get(records.CONTROL, '?')}"


def command(claim: StatedClaim) -> str:
    """The command that states the same claim again."""
    given = claim.given
    words = ["ganboard", "claim", claim.statement]
    if given.get("preset"):
        words += ["--preset", given["preset"]]
    for option, assignments in (("--set", "settings"), ("--against", "against")):
        for assignment in given.get(assignments, []):
            words += [option, assignment]
    words += ["--pairs", str(claim.pairs), "--seed", str(claim.seed)]
    if claim.hours:
        words += ["--hours", f"{claim.hours:g}"]
    words += ["--confidence", f"{claim.confidence:g}", "--power", f"{claim.power:g}"]
    return shlex.join(words)


def _check_numbers(asked: Asked) -> None:
    if not FIRST_LOOK <= asked.pairs <= MAX_PAIRS:
        raise ConfigError(
            f"pairs={asked.pairs} is outside {FIRST_LOOK} to {MAX_PAIRS}: fewer show no spread."
        )
    if asked.hours is not None and not 0 < asked.hours <= MAX_HOURS:
        raise ConfigError(f"hours={asked.hours:g} must be greater than 0 and at most 720.")
    for name, value in (("confidence", asked.confidence), ("power", asked.power)):
        if not 0.5 <= value <= 0.999 or math.isnan(value):
            raise ConfigError(f"{name}={value:g} is outside 0.5 to 0.999, such as 0.95.")


def _check_difference(asked: Asked, base: dict[str, Any], instead: dict[str, Any]) -> None:
    if not instead:
        raise ConfigError(
            "A claim compares two configurations. Give the control another value, such as"
            " precision=float32."
        )
    if "seed" in {**base, **instead}:
        raise ConfigError(
            "Seeds count up from the first and are the same in both runs of a pair. Remove seed."
        )
    if EVERY in instead:
        raise ConfigError(f"Both runs must be evaluated alike. Set {EVERY} for both instead.")


def _evaluation(
    context: Context, base: dict[str, Any], instead: dict[str, Any], conditions: list[Condition]
) -> tuple[dict[str, Any], str]:
    """Settings that evaluate the runs as the conditions need it, and a sentence."""
    needed = [condition for condition in conditions if condition.evaluated]
    both = {name: [{**defaults(base), **base}[name], value] for name, value in instead.items()}
    if EVERY in base:
        base = {**base, EVERY: parse_value(EVERY, base[EVERY])}
        found = evaluation.as_set(base, {})
    else:
        found = evaluation.by_default(context, base, both)
    added = dict(found.settings)
    evaluated = {**base, **added}.get(EVERY)
    if needed and not evaluated:
        raise ConfigError(
            f"The claim is about {needed[0].evaluated}, but: {found.sentence} Change that, or leave"
            " the condition out."
        )
    if any(condition.quantity == SECONDS_TO for condition in conditions) and EVERY not in base:
        return {EVERY: 1}, f"Each run is evaluated after every epoch ({EVERY}=1)."
    return added, found.sentence


def _checked(context: Context, member: sweep.Member, arm: str) -> RunConfig:
    if member.config is None or member.problem:
        raise ConfigError(f"The {arm} cannot run. {member.problem}")
    catalog.check(member.config, context.settings.data)
    return starting.checked(context, member.config)


def _check_epochs(conditions: list[Condition], configs: dict[str, RunConfig]) -> None:
    """Of an epoch that is the first one no speed is known."""
    if any(condition.quantity in (SPEED, RATE) for condition in conditions):
        for arm, config in configs.items():
            if config.epochs < 2:
                raise ConfigError(
                    f"The {arm} trains epochs={config.epochs}. The first epoch is cold and not"
                    " timed: train 2 or more."
                )
