"""What is asked of a model of one file: images, as of every model that makes some from noise."""

from __future__ import annotations

from ganboard.gan.generation.images import Generation, Request, draw

__all__ = ["Generation", "Request", "draw"]
