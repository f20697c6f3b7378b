"""What 16-bit products and XLA buy, together and alone.

ganboard study precision-xla --preset paper-small --follow
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ganboard.gan.studies import Budget, Part, Study


def study(budget: Budget) -> Study:
    varied: dict[str, Sequence[Any]] = {
        "precision": ("float32", "mixed_bfloat16"),
        "xla": (False, True),
    }
    if budget.crossed:
        varied = {"batch_size": budget.batches, **varied}
    return Study(
        "precision-xla",
        "Precision and XLA",
        "Do bfloat16 and XLA pay off on this device, and after how many steps is the compilation"
        " time recovered?",
        budget.settings,
        (Part("precision and XLA", {"batch_size": budget.usual}, varied),),
        budget.seeds,
        ("fig12", "quality"),
    )
