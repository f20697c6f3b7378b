"""The whole evaluation of the published study: batch size, precision, XLA, replicas, and the moving
learning rate of its Fig. 9.

    ganboard study paper --preset paper-small --follow

The paper's own budget crosses every batch with every precision, XLA and strategy; the smaller ones
vary one thing at a time.
"""

from __future__ import annotations

from ganboard.gan.studies import Budget, Part, Study

PRECISIONS = ("float32", "mixed_bfloat16")


def study(budget: Budget) -> Study:
    return Study(
        "paper",
        "The paper, figure by figure",
        "Which of the study's claims on batch size, precision, XLA and replicas hold on this"
        " hardware?",
        budget.settings,
        (*(crossed(budget) if budget.crossed else one_at_a_time(budget)), moving_rate(budget)),
        budget.seeds,
    )


def crossed(budget: Budget) -> tuple[Part, ...]:
    everything = {
        "batch_size": budget.batches,
        "precision": PRECISIONS,
        "xla": (False, True),
        "replicas": (1, 2),
    }
    return (Part("everything", {}, everything),)


def one_at_a_time(budget: Budget) -> tuple[Part, ...]:
    usual = {"batch_size": budget.usual}
    return (
        Part("batches", {}, {"batch_size": budget.batches}),
        Part("precision and XLA", usual, {"precision": PRECISIONS, "xla": (False, True)}),
        Part("replicas", {"batch_size": budget.batches[0]}, {"replicas": (1, 2)}),
    )


def moving_rate(budget: Budget) -> Part:
    """Fig. 9 shows the rate of the largest batch move; its minima at epochs 7 and 24 of 30 are
    placed alike in a shorter run."""
    epochs = int(budget.settings["epochs"])
    moves = {
        "schedule": "cyclic",
        "schedule_minimum": 7 * epochs / 30,
        "schedule_period": 17 * epochs / 30,
    }
    return Part("moving rate", {"batch_size": budget.batches[-1], **moves})
