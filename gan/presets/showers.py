"""Another model: the 3DGAN of calorimeter showers, 25x25x25 cells, on sampled showers, small enough
for two cores.

    ganboard run --preset showers --follow

Expected on two CPU cores: 20 minutes beside other work. Expected result: streaks along the shower's
axis, no shower yet; the objective falls below 15 and swings. A good one takes CERN's files, 60
epochs and GPUs.
"""

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
