"""The candidates of `ganboard bench`: our trainer, what else a person could write, and the floor
below all of them.

`python -m ganboard.gan.bench MODULE TASK` is a process that takes training steps when told to
(`gan.bench.protocol`). Each module has one function, `make`. Peers run in a Python that may have
none of our libraries: `pytorch` and `jax` import their own framework and NumPy only.
"""
