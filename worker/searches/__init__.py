"""Searches over settings: what is sought (`space`, `objective`, `definition`), what is tried next
and what is stopped early (`proposals`, `rounds`), who does it (`driver`), how far it is
(`progress`). Only `proposals` loads Optuna."""
