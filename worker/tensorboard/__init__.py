"""TensorBoard's event files, both ways: written while a run trains or from what is stored of it,
and read in as runs."""
