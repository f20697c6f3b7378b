"""Digits of a chosen class: a DCGAN that learns with labels, from scikit-learn's handwritten ones,
nothing to download.

    ganboard run --preset conditional --follow

Expected on two CPU cores: a minute and a half. Expected result: legible digits of the classes 0 to
7, which the grid shows; on Playground any class can be chosen.
"""

VALUES = {
    "model": "cdcgan",
    "dataset": "digits",
    "conditional": True,
    "classes": 10,
    "width": 16,
    "batch_size": 32,
    "epochs": 150,
    "ema": 0.99,
    "quality_every": 50,
}
