"""The study's DCGAN on scikit-learn's handwritten digits, nothing to download: a minute that shows
what precision, XLA or another batch buys.

    ganboard run --preset digits --follow

Expected on two CPU cores: a minute to a minute and a half. Expected result: the first legible
digits after 6 epochs, good ones after 30 (five times the study's rate, beta1 0.5, batch 32 and
averaged weights get there sooner).
"""

VALUES = {
    "dataset": "digits",
    "batch_size": 32,
    "epochs": 30,
    "g_learning_rate": 5e-4,
    "d_learning_rate": 5e-4,
    "beta_1": 0.5,
    "ema": 0.98,
    "precision": "mixed_bfloat16",
    "quality_every": 10,
}
