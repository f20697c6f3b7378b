"""Another model: a pix2pix that continues vortex streets, on flows that are computed once.

    ganboard run --preset vortex_street --follow

Expected on two CPU cores: 5 to 11 minutes; 4 with precision=mixed_bfloat16 where the processor has
AMX. Expected result: the street of a Reynolds number that was held out, followed for 150 frames; L1
falls to 0.003, an eighth of that of a flow that stands still.
"""

VALUES = {
    "model": "pix2pix",
    "dataset": "vortex_street",
    "geometry": "64x64",
    "network": "compact",
    "width": 16,
    "predict": "change",
    "adversarial_weight": 0.0,
    "input_noise": 0.01,
    "pushforward": 0.5,
    "batch_size": 16,
    "epochs": 40,
    "g_learning_rate": 2e-3,
    "d_learning_rate": 2e-4,
    "beta_1": 0.5,
    "schedule": "cosine_restart",
    "schedule_period": 40,
    "schedule_depth": 0.98,
    "grid_size": 4,
    "quality_every": 10,
    "quality_images": 400,
    "keep_checkpoints": 1,
}
