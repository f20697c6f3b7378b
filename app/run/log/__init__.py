"""The log of a run: its file and its tab."""
