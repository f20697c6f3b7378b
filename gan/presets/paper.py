"""The published study exactly: DCGAN on MNIST with Adam(1e-4), whose batch it varies from 64 to
512.

    ganboard run --preset paper --follow

Expected on two CPU cores: about 80 seconds an epoch, 40 minutes in all.
Expected result: digit-like strokes after the first epoch; the study trains all 30.
"""

VALUES = {
    "dataset": "mnist",
    "batch_size": 64,
    "epochs": 30,
    "optimizer": "adam",
    "g_learning_rate": 1e-4,
    "d_learning_rate": 1e-4,
}
