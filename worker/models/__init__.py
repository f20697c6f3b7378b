"""What single models add to the worker: commands, and requests that only they answer."""
