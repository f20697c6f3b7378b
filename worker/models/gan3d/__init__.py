"""The commands on files of showers."""
