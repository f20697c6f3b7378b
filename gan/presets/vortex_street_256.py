"""Vortex streets in windows of 256x256 cells, the size of the published network.

ganboard run --preset vortex_street_256 --follow
"""

VALUES = {
    "model": "pix2pix",
    "dataset": "vortex_street",
    "geometry": "256x256",
    "network": "compact",
    "width": 16,
    "predict": "change",
    "adversarial_weight": 0.0,
    "input_noise": 0.01,
    "pushforward": 0.5,
    "batch_size": 4,
    "epochs": 10,
    "g_learning_rate": 2e-3,
    "d_learning_rate": 2e-4,
    "beta_1": 0.5,
    "schedule": "cosine_restart",
    "schedule_period": 10,
    "schedule_depth": 0.98,
    "grid_size": 2,
    "quality_every": 5,
    "quality_images": 200,
    "keep_checkpoints": 1,
}
