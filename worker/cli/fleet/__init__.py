"""The commands of machines that share a queue."""
