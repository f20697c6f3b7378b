"""What is recorded of a run, in words and tables: events, configuration, networks, hardware."""
