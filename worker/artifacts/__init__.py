"""The artifact store: files of runs that every machine can reach."""
