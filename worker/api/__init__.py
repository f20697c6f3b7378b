"""The REST API: what the pages can do, for programs. One application, which the dashboard serves
at /api/v1 and `ganboard mcp` calls in its own process."""
