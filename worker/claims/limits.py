"""Limits of claims that modules without arrays need."""

FIRST_LOOK = 3  # pairs, before which no interval is computed
MAX_PAIRS = 100
