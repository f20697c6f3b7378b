"""Schedulers of clusters that start runs instead of ganboard's workers."""
