"""Learning rates that stay, restart and swing: the two readings of the study's Fig. 9, and the
restarts that it cites.

ganboard study schedules --preset paper-small --follow
"""

from __future__ import annotations

from ganboard.gan.studies import Budget, Part, Study
from ganboard.gan.studies.paper import moving_rate


def study(budget: Budget) -> Study:
    largest, epochs = budget.batches[-1], int(budget.settings["epochs"])
    restarts = {"schedule": "cosine_restart", "schedule_period": max(1.0, epochs / 3)}
    return Study(
        "schedules",
        "Learning rate schedules",
        "Does a learning rate schedule help the largest batch?",
        budget.settings,
        (
            Part("constant", {"batch_size": largest}),
            moving_rate(budget),
            Part(
                "restarts",
                {"batch_size": largest, **restarts},
                {"schedule_for": ("both", "discriminator")},
            ),
        ),
        budget.seeds,
        ("fig7", "fig9", "fig10", "quality"),
    )
