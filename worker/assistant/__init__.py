"""`ganboard mcp`: the REST API as tools for assistants that speak the Model Context Protocol."""
