"""Searches over settings: what is sought (`searches`), and the combinations tried (`trials`)."""
