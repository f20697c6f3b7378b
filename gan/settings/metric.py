"""What a model declares about each metric of quality that its evaluator computes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Better = Literal["lower", "higher"]


@dataclass(frozen=True)
class Metric:
    """One metric: an entry of `METRICS` in `metrics.py` of the model's folder, the headline first.

    The order is that of columns, charts and lines of text.
    """

    name: str
    label: str  # on charts and in tables
    description: str
    note: str = ""  # in parentheses after the description, such as what a value means
    better: Better | None = None  # None: neither, the note says which value is right
    summary: str = ""  # its format in one line of text, such as "FID {:.2f}"; empty: left out
    word: str = ""  # in sentences, where the label alone reads badly
    digits: int = 4  # decimals in tables
    chart: str = ""  # the metric whose chart it shares; empty: a chart of its own
    compared_as: str = ""  # its name where two versions are compared, if it is another

    @property
    def meaning(self) -> str:
        """The description with what makes a value good; no full stop."""
        direction = f"{self.better} is better" if self.better else ""
        remarks = "; ".join(filter(None, (direction, self.note)))
        return f"{self.description} ({remarks})" if remarks else self.description
