"""Tests the whole path of pix2pix: two epochs of four steps of the published networks; no useful
flows.

    ganboard run --preset vortex_street_tiny --follow

Expected on two CPU cores: one to two minutes beside other work, half of it for the flows if they
are not there yet. Expected result: pale smears.
"""

VALUES = {
    "model": "pix2pix",
    "dataset": "vortex_street",
    "geometry": "64x64",
    "limit": 32,
    "batch_size": 8,
    "epochs": 2,
    "grid_size": 2,
    "g_learning_rate": 2e-4,
    "d_learning_rate": 2e-4,
    "beta_1": 0.5,
    "quality_every": 2,
    "quality_images": 200,
    "keep_checkpoints": 1,
    "snapshots": 0,
}
