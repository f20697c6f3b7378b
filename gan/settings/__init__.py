"""The settings of a run, declared once: each field with all that is known about it, and what each
model reads of them. Free of TensorFlow."""
