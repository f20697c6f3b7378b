"""Long lists in pages, filtered and ordered by the database."""
