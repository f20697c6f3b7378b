"""DCGAN of the study (seeds 000 and 001)."""
