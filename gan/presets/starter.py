"""The first run a newcomer sees: scikit-learn's real handwritten digits, nothing to download.

    ganboard run --preset starter --follow

Expected on two CPU cores: 40 to 90 seconds. Expected result: legible digits after 10 to 20 epochs
(Adam 2e-4 with beta1 0.5 gets there sooner than the study's 1e-4).
"""

VALUES = {
    "dataset": "digits",
    "batch_size": 64,
    "epochs": 20,
    "g_learning_rate": 2e-4,
    "d_learning_rate": 2e-4,
    "beta_1": 0.5,
    "precision": "mixed_bfloat16",
}
