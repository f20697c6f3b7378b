"""Reports: a study or a run as one file that needs nothing else."""
