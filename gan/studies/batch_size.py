"""What larger batches buy: seconds, and quality per second.

ganboard study batch-size --preset paper-small --follow
"""

from __future__ import annotations

from ganboard.gan.studies import Budget, Part, Study


def study(budget: Budget) -> Study:
    return Study(
        "batch-size",
        "Batch size",
        "How much time do larger batches save, and how do they affect quality?",
        budget.settings,
        (Part("batches", {}, {"batch_size": budget.batches}),),
        budget.seeds,
        ("fig5", "fig6", "fig7", "fig8", "fig10", "quality"),
    )
