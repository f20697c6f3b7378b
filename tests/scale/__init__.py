"""A database as months of use leave it, and how quick the pages are over it: see docs/scale.md."""
