"""For a test of the whole path of pix2pix: two epochs of four steps; nothing to look at comes of
it.

    ganboard run --preset vortex_street_tiny --follow

Expected on two CPU cores: one to two minutes beside other work, half of it for the flows if they
are not there yet. Expected result: pale smears.
"""

from ganboard.gan.presets.vortex_street import VALUES as SMALL

VALUES = {
    **SMALL,
    "limit": 32,
    "batch_size": 8,
    "epochs": 2,
    "quality_every": 2,
    "quality_images": 200,
    "grid_size": 2,
}
