"""What a model declares about each metric of quality that its evaluator computes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ganboard.gan.settings.features import Source, qualified

Better = Literal["lower", "higher"]


@dataclass(frozen=True)
class Metric:
    """One metric: an entry of `METRICS` in `metrics.py` of the model's folder, the headline first.

    The order is that of columns, charts and lines of text.
    """

    name: str
    label: str  #: on charts and in tables
    description: str
    note: str = ""  #: in parentheses after the description, such as what a value means
    better: Better | None = None  #: None: neither, the note says which value is right
    summary: str = ""  #: its format in one line of text, such as "FID {:.2f}"; empty: left out
    word: str = ""  #: in sentences, where the label alone reads badly
    by_features: bool = False  #: whether it is a number of features, which another run may not have
    digits: int = 4  #: decimals in tables
    chart: str = ""  #: the metric whose chart it shares; empty: a chart of its own
    compared_as: str = ""  #: its name where two versions are compared, if it is another

    def called(self, source: Source) -> str:
        """The label with the features that the number comes from: "FID (encoder)"."""
        return f"{self.label} ({source.label})" if self.by_features else self.label

    def in_sentences(self, source: Source) -> str:
        """The same in sentences: "encoder-FID"."""
        word = self.word or self.label
        return f"{source.label}-{word}" if self.by_features else word

    def qualified(self, source: Source) -> str:
        """The name among numbers of all kinds of features; see `features.qualified`."""
        return qualified(self.name, source.name) if self.by_features else self.name

    @property
    def meaning(self) -> str:
        """The description with what makes a value good; no full stop."""
        direction = f"{self.better} is better" if self.better else ""
        remarks = "; ".join(filter(None, (direction, self.note)))
        return f"{self.description} ({remarks})" if remarks else self.description
