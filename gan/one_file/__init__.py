"""The parts that models of one file have in common; a model in a folder has its own."""
