"""For a test of the whole path of 3DGAN: two epochs of four steps; nothing to look at comes of it.

    ganboard run --preset showers_tiny --follow

Expected on two CPU cores: one to two minutes beside other work. Expected result: showers that fill
the whole box.
"""

from ganboard.gan.presets.showers import VALUES as SMALL

VALUES = {**SMALL, "limit": 32, "batch_size": 8, "epochs": 2, "quality_every": 0, "grid_size": 2}
