"""The networks of a run and the formats that they can be written in. Free of TensorFlow."""

from __future__ import annotations

NAMES = ("generator", "discriminator")
KERAS, SAVED_MODEL, ONNX = FORMATS = ("keras", "saved_model", "onnx")
