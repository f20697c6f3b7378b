"""Another model: the 3DGAN of calorimeter showers, 25x25x25 cells, on sampled showers, with compact
networks.

    ganboard run --preset showers --follow

Expected on two CPU cores: 9 minutes. Expected result: showers; the objective is below 1 after 2
minutes and below 0.3 at the end, where two real samples differ by 0.03.
"""

VALUES = {
    "model": "gan3d",
    "dataset": "showers",
    "network": "compact",
    "width": 16,
    "r1": 0.12,
    "limit": 8000,
    "batch_size": 64,
    "epochs": 32,
    "ema": 0.998,
    "g_learning_rate": 5e-4,
    "d_learning_rate": 5e-4,
    "beta_1": 0.5,
    "beta_2": 0.99,
    "schedule": "cosine_restart",
    "schedule_period": 32,
    "schedule_depth": 0.95,
    "quality_every": 4,
    "quality_images": 1000,
    "grid_size": 4,
    "keep_checkpoints": 1,
}
