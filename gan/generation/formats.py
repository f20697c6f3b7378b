"""The networks of a run and the formats that they can be written in. Free of TensorFlow."""

from __future__ import annotations

NAMES = ("generator", "discriminator")
# of a generator: its moving average (`ema`), or as they were trained
WEIGHTS = ("average", "training")
KERAS, SAVED_MODEL, ONNX = FORMATS = ("keras", "saved_model", "onnx")
