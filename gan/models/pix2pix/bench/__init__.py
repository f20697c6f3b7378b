"""What `ganboard bench` races beside our trainer of this model."""
