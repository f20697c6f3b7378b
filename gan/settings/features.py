"""Which features a number of quality comes from, and which numbers may be compared. Free of
TensorFlow.

A distance of one set of features means nothing in another: FID by a small classifier is about 3
where FID by InceptionV3 is about 30. A run's facts therefore say which features it was evaluated
with, and whoever compares or ranks asks here first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

FACT = "quality_features"  # of a run, such as "encoder 3f2a9c0d11e2b7c4"
AUTO = "auto"
CLASSIFIER = "classifier"
ENCODER = "encoder"
INCEPTION = "inception"
CHOICES = (AUTO, CLASSIFIER, ENCODER, INCEPTION)
LABELS = {CLASSIFIER: "classifier", ENCODER: "encoder", INCEPTION: "Keras InceptionV3"}
DESCRIPTIONS = {
    CLASSIFIER: (
        "Evaluated on the features of a small classifier trained on the same data set: these are"
        " not Inception scores."
    ),
    ENCODER: (
        "Evaluated on the features of a small encoder trained on the same data set without labels"
        " (it tells rotations apart): these are not Inception scores."
    ),
    INCEPTION: (
        "Evaluated on the 2,048 pooled features of Keras's InceptionV3 (ImageNet), which are not"
        " those of the reference implementation's Inception network of 2015: compare them with"
        " other numbers of Keras's InceptionV3 only."
    ),
}
_FACT_FORM = re.compile(r"([a-z_]+) ([0-9a-f]{16})")


@dataclass(frozen=True)
class Source:
    """The features that the metrics of a run come from."""

    name: str  # one of CHOICES but auto
    digest: str = ""  # of what they are made of; empty where a run did not record it

    @property
    def label(self) -> str:
        return LABELS[self.name]

    @property
    def description(self) -> str:
        """One sentence or two for people."""
        return DESCRIPTIONS[self.name]

    @property
    def fact(self) -> str:
        """As it is stored; see `recorded`."""
        return f"{self.name} {self.digest}".strip()

    def comparable(self, other: Source) -> bool:
        """Whether numbers of both may be compared. A digest that was not recorded is that of the
        data set's classifier."""
        known = self.digest and other.digest
        return self.name == other.name and (not known or self.digest == other.digest)


def recorded(facts: Mapping[str, Any]) -> Source:
    """The features of a run by its facts: those of its data set's classifier where it recorded
    none."""
    found = _FACT_FORM.fullmatch(str(facts.get(FACT, "")))
    return Source(*found.groups()) if found and found[1] in LABELS else Source(CLASSIFIER)


def was_evaluated(facts: Mapping[str, Any]) -> bool:
    """Whether the facts of a run come from an evaluation by features; those of the first ganboard
    name the classifier's accuracy alone."""
    return FACT in facts or "classifier_accuracy" in facts


def conflict(word: str, sources: Iterable[Source]) -> str | None:
    """Why a metric called `word` cannot be compared between `sources`, in one sentence; None if it
    can."""
    distinct = list(dict.fromkeys(sources))
    for index, one in enumerate(distinct):
        for other in distinct[index + 1 :]:
            if not one.comparable(other):
                return _sentence(word, one, other)
    return None


def _sentence(word: str, one: Source, other: Source) -> str:
    if one.name != other.name:
        return (
            f"{word} by {one.label} features and {word} by {other.label} features cannot be"
            " compared."
        )
    return (
        f"{word} by the {one.label} features {one.digest[:8]} and {word} by the {other.label}"
        f" features {other.digest[:8]} cannot be compared: they were made of different data."
    )


def qualified(metric: str, name: str) -> str:
    """The name of a metric among numbers of all kinds of features, such as fid_encoder; that of
    the classifier's features is the metric's own."""
    return metric if name == CLASSIFIER else f"{metric}_{name}"
