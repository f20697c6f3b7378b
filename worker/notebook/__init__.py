"""Stored runs in programs and notebooks: tables as pandas frames, the figures of the pages, a live
view, the dashboard in a cell."""
