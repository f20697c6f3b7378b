"""Runs that other programs recorded, read in as runs that a script trained."""
