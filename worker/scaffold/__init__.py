"""What `ganboard new` writes."""
