"""What a run needs of the machine that trains it, as `needs` and `prefers` say: terms such as
`gpu_memory>=24, lab3`, separated by commas. Free of TensorFlow.

A term is a label that the owner of a machine gave it, `tpu`, `gpu=NAME` (part of the name of a
GPU), `host=NAME`, or one of AMOUNTS with `>=`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

LABEL = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,39}")
MAX_LABELS, MAX_TERMS = 20, 20
GIGABYTE = 10**9
AMOUNTS = {
    "cores": "cores",
    "memory": "GB of memory",
    "gpus": "GPUs",
    "gpu_memory": "GB on each GPU",
}
NAMED = ("gpu", "host")
_TERM = re.compile(r"(?P<name>[A-Za-z_][\w.-]*)\s*(?:(?P<sign>>=|=)\s*(?P<value>.+))?")
_NUMBER = re.compile(r"\d{1,6}(\.\d{1,3})?", re.ASCII)


class BadNeed(ValueError):
    """A term that says nothing; the message is one sentence with the remedy."""


@dataclass(frozen=True)
class Offer:
    """What the machine of a worker has: its `devices` as of `probe.describe`, None before they
    are known."""

    labels: Sequence[str] = ()
    host: str = ""
    devices: Mapping[str, Any] | None = field(default=None)


@dataclass(frozen=True)
class Need:
    """One term."""

    name: str
    value: str = ""

    def __str__(self) -> str:
        sign = ">=" if self.name in AMOUNTS else "="
        return f"{self.name}{sign}{self.value}" if self.value else self.name

    def met(self, offer: Offer) -> bool:
        """Whether a machine has it; of hardware that is not known yet nothing is."""
        has = offer.devices or {}
        gpus = has.get("gpus") or []
        if self.name == "host":
            return offer.host == self.value
        if self.name == "gpu":
            return any(self.value.lower() in str(gpu.get("name", "")).lower() for gpu in gpus)
        if self.name == "tpu":
            return bool(has.get("tpus"))
        if self.name not in AMOUNTS:
            return self.name in offer.labels
        least = min((gpu.get("memory_bytes") or 0 for gpu in gpus), default=0)
        found = {
            "cores": has.get("cores") or 0,
            "memory": (has.get("memory_bytes") or 0) / GIGABYTE,
            "gpus": len(gpus),
            "gpu_memory": least / GIGABYTE,
        }
        return bool(found[self.name] >= float(self.value))


def parse(text: str) -> tuple[Need, ...]:
    """The terms of `needs` or `prefers`. Raises BadNeed."""
    terms = [term.strip() for term in text.split(",") if term.strip()]
    if len(terms) > MAX_TERMS:
        raise BadNeed(f"it has {len(terms)} terms, and {MAX_TERMS} are the limit: leave some out")
    return tuple(map(_need, terms))


def labels(text: str) -> tuple[str, ...]:
    """The labels of a machine, as GANBOARD_LABELS lists them. Raises BadNeed."""
    found = [label.strip() for label in text.split(",") if label.strip()]
    if len(found) > MAX_LABELS:
        raise BadNeed(f"it has {len(found)} labels, and {MAX_LABELS} are the limit")
    for label in found:
        if LABEL.fullmatch(label) is None or label in (*AMOUNTS, *NAMED, "tpu"):
            raise BadNeed(
                f"{label[:60]!r} is no label: use a letter, then letters, digits, _, . or -, and"
                " none of the words that ask for hardware"
            )
    return tuple(dict.fromkeys(found))


def _need(term: str) -> Need:
    match = _TERM.fullmatch(term)
    found = match.groupdict(default="") if match else {}
    name, sign, value = (found.get(part, "").strip() for part in ("name", "sign", "value"))
    if name in AMOUNTS:
        if sign == ">=" and _NUMBER.fullmatch(value):
            return Need(name, value)
        raise BadNeed(f"{term[:60]!r} needs a number of {AMOUNTS[name]}, such as {name}>=8")
    if name in NAMED:
        if sign == "=" and value:
            return Need(name, value)
        raise BadNeed(f"{term[:60]!r} needs a name, such as {name}=A100")
    if not sign and LABEL.fullmatch(name):
        return Need(name)
    raise BadNeed(
        f"{term[:60]!r} is no term: use a label, tpu, gpu=NAME, host=NAME or one of"
        f" {', '.join(AMOUNTS)} with >="
    )
