"""How training scales over replicas of one process and over processes.

ganboard study scaling --preset paper-small --follow
"""

from __future__ import annotations

from ganboard.gan.studies import Budget, Part, Study

REPLICAS = (1, 2, 4)


def study(budget: Budget) -> Study:
    batch = {"batch_size": budget.batches[-1]}
    return Study(
        "scaling",
        "Scaling",
        "How much faster is training with more replicas, and what is the serial fraction of a"
        " step?",
        budget.settings,
        (
            Part("replicas", batch, {"replicas": REPLICAS}),
            Part("workers", {**batch, "strategy": "multi_worker"}, {"replicas": REPLICAS[1:]}),
        ),
        budget.seeds,
        ("fig13", "scaling", "approaches", "forecast", "bottleneck"),
    )
