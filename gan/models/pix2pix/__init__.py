"""The Karman vortex street: a flow solver, frame pairs from it, tiles for inference, and the
networks that imitate it."""
