"""Another model: the pix2pix of vortex streets at 64x64, on flows that are computed once, small
enough for two cores.

    ganboard run --preset vortex_street --follow

Expected on two CPU cores: 14 minutes beside other work. Expected result: the street's pale shape;
L1 falls to 0.06 and is still above the 0.02 of a flow that stands still.
"""

VALUES = {
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
}
