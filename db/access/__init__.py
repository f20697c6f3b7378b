"""Who may use the REST API, and what was changed through it."""
