"""The commands of searches over settings."""
