"""The commands that README.md and the documentation show, found and executed."""
