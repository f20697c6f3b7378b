"""Traces of runs for OpenTelemetry. `recording` is what others call; nothing of OpenTelemetry is
imported unless its variables ask for traces."""
