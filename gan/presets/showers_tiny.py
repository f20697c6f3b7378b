"""Tests the whole path of 3DGAN: two epochs of four steps of the published networks; no useful
showers.

    ganboard run --preset showers_tiny --follow

Expected on two CPU cores: one to two minutes beside other work. Expected result: showers that fill
the whole box.
"""

VALUES = {
    "model": "gan3d",
    "dataset": "showers",
    "limit": 32,
    "batch_size": 8,
    "epochs": 2,
    "quality_every": 0,
    "quality_images": 300,
    "grid_size": 2,
    "optimizer": "rmsprop",
    "g_learning_rate": 1e-3,
    "d_learning_rate": 1e-3,
}
