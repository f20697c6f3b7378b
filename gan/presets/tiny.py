"""Tests the whole path: two epochs of four steps, done in seconds; no useful images.

    ganboard run --preset tiny --follow

Expected on two CPU cores: under 20 seconds, nearly all of it start-up. Expected result: grey blobs;
it is no digit yet.
"""

VALUES = {"dataset": "digits", "limit": 128, "batch_size": 32, "epochs": 2, "grid_size": 4}
