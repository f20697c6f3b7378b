"""Between the database and the science: queue, worker, trainer process, supervisor, command line.
No TensorFlow but in the trainer."""
