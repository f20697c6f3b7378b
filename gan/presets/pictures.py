"""Your own pictures, 64x64 in colours: a DCGAN of that size with differentiable augmentation, for
some thousand pictures or more in a folder or zip of the data directory.

    ganboard run --preset pictures --set images_path=FOLDER --follow

Expected on two CPU cores: an hour, after which it stops by itself. Expected result: colours and
outlines after 10 minutes, pictures of the folder's kind after an hour.
"""

VALUES = {
    "model": "convgan",
    "dataset": "images",
    "images_path": "pictures",
    "image_size": 64,
    "channels": 3,
    "augment": "color,translation",
    "batch_size": 64,
    "epochs": 1000,
    "max_minutes": 60,
    "ema": 0.999,
    "quality_every": 10,
}
