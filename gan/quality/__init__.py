"""How good generated images are, by the features of a small network trained on the same data set,
or of InceptionV3.

`features`, `choice`, `declared`, `metrics`, `extract`, `inception_weights` and `cache` are free of
TensorFlow; the others are for the trainer. Compare distances between runs with the same features on
one data set only.
"""
