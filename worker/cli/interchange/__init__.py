"""The commands that write runs as files and read them in."""
