"""The training table of the pix2pix of vortex streets, seconds by batch size, and what replicas buy
at a small and at a large batch.

ganboard study vortex_street --preset paper-small --follow
"""

from __future__ import annotations

from ganboard.gan.studies import Budget, Part, Study

# the published networks and losses
_SHORT = {
    "model": "pix2pix",
    "dataset": "vortex_street",
    "geometry": "64x64",
    "batch_size": 16,
    "epochs": 3,
    "grid_size": 4,
    "g_learning_rate": 2e-4,
    "d_learning_rate": 2e-4,
    "beta_1": 0.5,
    "quality_every": 1,
    "quality_images": 400,
    "keep_checkpoints": 1,
    "snapshots": 0,
    "checkpoint_every": 100,  # a checkpoint of the end alone: it has 384 MB
}
BUDGETS = {
    "paper": Budget(
        "45 epochs of all flows, as published: days on a CPU, hours on a GPU",
        {**_SHORT, "epochs": 45, "quality_every": 5},
        batches=(8, 16, 32, 64),
        seeds=3,
        crossed=True,
    ),
    "paper-small": Budget(
        "the same batches on 256 pairs and 3 epochs: most of an hour on two cores",
        {**_SHORT, "limit": 256, "quality_images": 200},
        batches=(8, 16, 32, 64),
        seeds=3,
    ),
    "tiny": Budget(
        "for tests: minutes; results are not meaningful",
        {**_SHORT, "limit": 32, "epochs": 2, "quality_images": 200, "grid_size": 2},
        batches=(8, 16),
        seeds=1,
    ),
}


def study(budget: Budget) -> Study:
    small, *_, large = budget.batches
    return Study(
        "vortex_street",
        "Vortex street: the training table",
        "How much time do larger batches save for pix2pix, do replicas gain more with a large"
        " batch, and does the network overfit?",
        {name: value for name, value in budget.settings.items() if name != "batch_size"},
        (
            Part("batches", {}, {"batch_size": budget.batches}),
            Part(
                "replicas",
                {},
                {"batch_size": (small, large), "replicas": (1, 2, 4) if budget.crossed else (1, 2)},
            ),
        ),
        budget.seeds,
        ("training-table", "quality", "overfitting", "scaling", "approaches", "bottleneck"),
    )
