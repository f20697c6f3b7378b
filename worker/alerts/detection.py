"""Finds what rules are about: in the events of runs, and in the state of those that train.

Each find has a key of its own, so finding it again, by this sender or another, stores nothing new.
The events are read from where the rules have read to, and a little before: on PostgreSQL one may be
committed after others with higher numbers.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ganboard.db.alerts import deliveries, events, rules
from ganboard.db.alerts.deliveries import Found
from ganboard.db.alerts.events import Happened
from ganboard.db.errors import BadSearch
from ganboard.db.models import ACTIVE, ENDED, AlertRule
from ganboard.db.runs import listing, queries, search
from ganboard.db.runs.listing import Listed
from ganboard.gan.events import COLLAPSE, NOT_FINITE
from ganboard.gan.settings.metadata import all_defaults
from ganboard.worker.alerts import messages
from ganboard.worker.context import Context

log = logging.getLogger("ganboard.alerts")

OVERLAP = 200  # events that are read again
READ = 2000  # events in one round
_METRIC = re.compile(rf"\b({'|'.join(search.METRICS)})\b", re.IGNORECASE)


@dataclass(frozen=True)
class _Seen:
    """What one round looks at."""

    events: Sequence[Happened]
    runs: dict[str, Listed]
    ended_at: dict[str, datetime]  # of those that have ended
    errors: dict[str, str]
    stalled: dict[int, dict[str, datetime]]  # by the minutes of the rules that ask


class Detector:
    """Looks for news in rounds, and remembers what it has found."""

    def __init__(self, context: Context) -> None:
        self._engine = context.engine
        self._looked_at: set[int] = set()  # of the events that are read again
        self._found: set[tuple[str, str, str]] = set()
        self._unreadable: set[str] = set()  # rules that the log has named

    def round(self) -> int:
        """Store what has happened since; returns how many new alerts that makes."""
        in_force = rules.in_force(self._engine)
        if not in_force:
            return 0
        read_to = min(rule.seen_event for rule in in_force)
        read = events.after(self._engine, max(0, read_to - OVERLAP), limit=READ)
        new = [one for one in read if one.id not in self._looked_at]
        seen = self._look(in_force, new)
        found = [one for rule in in_force for one in self._find(rule, seen)]
        newest = max((one.id for one in read), default=0)
        added = 0
        if found or newest > read_to:
            rule_ids = [rule.id for rule in in_force]
            added = deliveries.record(self._engine, found, rule_ids=rule_ids, seen=newest)
        self._looked_at = {one.id for one in read if one.id > newest - 2 * OVERLAP}
        self._found |= {(one.rule.id, one.run_id, one.occurrence) for one in found}
        return added

    def _look(self, in_force: Sequence[AlertRule], new: Sequence[Happened]) -> _Seen:
        touched = list({one.run_id for one in new})
        asked = {rule.event for rule in in_force}
        listed = listing.list_all(self._engine, run_ids=touched) if touched else []
        if asked & {rules.METRIC, rules.NOT_FINITE, rules.NO_PROGRESS}:
            listed += listing.list_all(self._engine, statuses=ACTIVE)
        failed = [run.id for run in listed if run.status == "failed"]
        errors = {run.id: run.error or "" for run in queries.get_runs(self._engine, failed)}
        minutes = {rule.minutes for rule in in_force if rule.event == rules.NO_PROGRESS}
        return _Seen(
            new,
            {run.id: run for run in listed},
            {run.id: run.ended_at for run in listed if run.status in ENDED and run.ended_at},
            errors,
            {one: events.stalled(self._engine, minutes=one) for one in minutes if one},
        )

    def _find(self, rule: AlertRule, seen: _Seen) -> Iterator[Found]:
        try:
            settings = all_defaults()
            chosen = search.matching(list(seen.runs.values()), search.parse(rule.search, settings))
            of_rule = list(_occurrences(rule, chosen, seen, settings))
        except BadSearch as error:  # of a model that is not here any more
            if rule.id not in self._unreadable:
                self._unreadable.add(rule.id)
                log.warning("Rule %s cannot be evaluated: %s", rule.id, error)
            return
        for run, occurrence, reason in of_rule:
            if (rule.id, run.id, occurrence) not in self._found:
                yield Found(rule, run.id, occurrence, messages.of_run(run, rule.event, reason))


def _occurrences(
    rule: AlertRule, chosen: list[Listed], seen: _Seen, settings: dict[str, Any]
) -> Iterator[tuple[Listed, str, str]]:
    """Run, key and reason of each find."""
    runs = {run.id: run for run in chosen}
    if rule.event in (rules.FAILED, rules.FINISHED):
        for run in chosen:
            ended_at = seen.ended_at.get(run.id)
            if run.status == rule.event and ended_at and ended_at >= rule.since:
                yield run, ended_at.isoformat(), seen.errors.get(run.id, "")
    elif rule.event in (rules.COLLAPSE, rules.NOT_FINITE):
        for event in seen.events:
            if event.id > rule.since_event and event.run_id in runs and _tells(rule, event.text):
                yield runs[event.run_id], f"event {event.id}", event.text
        if rule.event == rules.NOT_FINITE:
            # a script has no monitor that would leave an event
            for run in chosen:
                if run.external and run.status in ACTIVE and (losses := _not_finite(run)):
                    yield run, "loss", f"The latest {losses} is not finite."
    elif rule.event == rules.METRIC:
        current = [run for run in chosen if _is_current(run, rule, seen)]
        for run in search.matching(current, search.parse(rule.condition, settings)):
            yield run, rule.condition, f"{rule.condition} holds: {_values(run, rule.condition)}."
    else:
        assert rule.minutes
        for run_id, progress_at in seen.stalled[rule.minutes].items():
            if run_id in runs:
                reason = f"No step and no other progress for {rule.minutes} min."
                yield runs[run_id], progress_at.isoformat(), reason


def _tells(rule: AlertRule, text: str) -> bool:
    return text.startswith(COLLAPSE) if rule.event == rules.COLLAPSE else NOT_FINITE in text


def _not_finite(run: Listed) -> str:
    losses = {"G loss": run.g_loss, "D loss": run.d_loss}
    bad = [name for name, value in losses.items() if value is not None and not math.isfinite(value)]
    return " and ".join(bad)


def _is_current(run: Listed, rule: AlertRule, seen: _Seen) -> bool:
    ended_at = seen.ended_at.get(run.id)
    return run.status in ACTIVE or (ended_at is not None and ended_at >= rule.since)


def _values(run: Listed, condition: str) -> str:
    """The metrics that a condition names, as they are."""
    names = dict.fromkeys(name.lower() for name in _METRIC.findall(condition))
    said = [f"{name} is {messages.number(getattr(run, name))}" for name in names]
    return ", ".join(said) or f"the run is {run.status}"
