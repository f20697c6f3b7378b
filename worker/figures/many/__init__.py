"""Figures of many runs at once."""
