"""Your own pictures, 64x64 in colours, on one GPU with 24 GB: R3GAN, today's baseline, compiled by
XLA in bfloat16.

    ganboard run --preset pictures_gpu --set images_path=FOLDER --follow

Expected on a GPU: not known, since this preset has not been run on one. Expected result: not known
either.
"""

VALUES = {
    "model": "r3gan",
    "dataset": "images",
    "images_path": "pictures",
    "image_size": 64,
    "channels": 3,
    "flips": True,
    "width": 64,
    "batch_size": 256,
    "epochs": 300,
    "precision": "mixed_bfloat16",
    "xla": True,
    "rng": "hash",
    "quality_every": 10,
    "quality_images": 10_000,
}
