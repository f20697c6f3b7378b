"""Another model: the pix2pix of vortex streets at the published size, 256x256, one frame ahead.

    ganboard run --preset vortex_street_256 --follow

Expected on two CPU cores: 7 minutes, and before the first run 2 minutes for the flows.
Expected result: L1 one frame ahead falls to 0.004, a seventh of that of a flow that stands still;
its own predictions are followed for 20 to 30 frames.
"""

from ganboard.gan.presets import vortex_street

VALUES = {
    **vortex_street.VALUES,
    "geometry": "256x256",
    "batch_size": 4,
    "epochs": 8,
    "schedule_period": 8,
    "quality_every": 4,
}
