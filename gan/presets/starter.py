"""For a first look: digits of every class in seconds, from scikit-learn's handwritten ones, nothing
to download; a small conditional DCGAN with averaged weights and ten times the study's rate.

    ganboard run --preset starter --follow

Expected on two CPU cores: half a minute to a minute. Expected result: legible digits of every class
after 12 epochs, a quarter of a minute; FID 0.8 to 1.8 after 60, by seed and processor.
"""

VALUES = {
    "model": "cdcgan",
    "dataset": "digits",
    "conditional": True,
    "width": 16,
    "batch_size": 32,
    "epochs": 60,
    "g_learning_rate": 1e-3,
    "d_learning_rate": 1e-3,
    "ema": 0.98,
    "precision": "mixed_bfloat16",
    "quality_every": 12,
    "grid_size": 10,  # a column for each class
}
