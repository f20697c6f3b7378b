"""Panels: charts that a person defines from stored metrics and expressions of them."""
