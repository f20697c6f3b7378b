"""The candidates of `ganboard bench`: our trainer, alternative implementations, and the lower bound
for all of them.

`python -m ganboard.gan.bench MODULE TASK` is a process that runs training steps on request
(`gan.bench.protocol`). Each module has one function, `make`. Peers run in a Python that may have
none of our libraries: `pytorch` and `jax` import their own framework and NumPy only.
"""
