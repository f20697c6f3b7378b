"""For a first look: legible digits within a minute or so, from scikit-learn's handwritten ones,
nothing to download.

    ganboard run --preset starter --follow

Expected on two CPU cores: about a minute. Expected result: strokes after 10 epochs, legible digits
after 20, good ones after 30 (Adam 2e-4 with beta1 0.5 and batch 32 gets there sooner than the
study's 1e-4 and 64).
"""

VALUES = {
    "dataset": "digits",
    "batch_size": 32,
    "epochs": 30,
    "g_learning_rate": 2e-4,
    "d_learning_rate": 2e-4,
    "beta_1": 0.5,
    "precision": "mixed_bfloat16",
    "quality_every": 10,
}
