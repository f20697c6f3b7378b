"""3DGAN by the two approaches of its parallel versions, Keras's fit and a loop of one's own, over
replicas and over processes.

    ganboard study showers --preset paper-small --follow

The published versions differ in input pipeline, loss terms and loop at once; here the loop alone
differs.
"""

from __future__ import annotations

from ganboard.gan.studies import Budget, Part, Study

# the published networks and optimizer, whatever the preset `showers` has
VALUES = {
    "model": "gan3d",
    "dataset": "showers",
    "limit": 320,
    "batch_size": 16,
    "epochs": 6,
    "quality_every": 2,
    "quality_images": 300,
    "grid_size": 4,
    "optimizer": "rmsprop",
    "g_learning_rate": 1e-3,
    "d_learning_rate": 1e-3,
}

BUDGETS = {
    "paper": Budget(
        "51x51x25 cells, 10,000 showers, 60 epochs: for GPUs",
        {
            **VALUES,
            "geometry": "51x51x25",
            "limit": None,
            "epochs": 60,
            "quality_every": 10,
            "quality_images": 2000,
        },
        batches=(64,),
        seeds=3,
        crossed=True,
    ),
    "paper-small": Budget(
        "25x25x25 cells, 64 showers, 3 epochs: most of an hour on two cores",
        {**VALUES, "limit": 64, "epochs": 3, "quality_every": 1},
        batches=(16,),
        seeds=3,
    ),
    "tiny": Budget(
        "for tests: minutes; results are not meaningful",
        {**VALUES, "limit": 16, "epochs": 2, "quality_every": 2, "grid_size": 2},
        batches=(8,),
        seeds=1,
    ),
}


def study(budget: Budget) -> Study:
    replicas, loops = (1, 2, 4) if budget.crossed else (1, 2), ("custom", "fit")
    return Study(
        "showers",
        "Showers: two approaches",
        "Does a custom loop distribute the training of a 3DGAN better than Keras fit, over devices"
        " of one process and over processes?",
        {**budget.settings, "batch_size": budget.usual},
        (
            Part("replicas", {}, {"loop": loops, "replicas": replicas}),
            Part(
                "processes", {"strategy": "multi_worker"}, {"loop": loops, "replicas": replicas[1:]}
            ),
        ),
        budget.seeds,
        ("physics", "scaling", "approaches", "bottleneck"),
    )
