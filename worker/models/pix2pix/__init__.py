"""Predictions of flows, and the commands of pix2pix."""
