"""What DCGAN says of itself. Free of TensorFlow."""

from __future__ import annotations

from ganboard.gan.models.dcgan.config import Config
from ganboard.gan.settings.picture_spec import picture_spec

PEERS = ("tutorial", "pytorch", "jax", "floor")
MODEL = picture_spec("DCGAN", Config, batch=256, peers=PEERS, usual=True)
