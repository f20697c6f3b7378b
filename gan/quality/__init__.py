"""How good generated images are, in the features of a small classifier trained on the same data
set.

`declared`, `metrics` and `cache` are free of TensorFlow; `classifier` and `evaluator` are for the
trainer. Nothing is downloaded, so the Frechet distance here is not the Inception FID of the
literature: compare it between runs on one data set only.
"""
