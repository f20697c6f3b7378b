"""The parts of the page Searches."""
