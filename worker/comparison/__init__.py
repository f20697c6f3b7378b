"""What a comparison of stored runs says: who is faster, whose images are better, and what makes it
unfair. The page Compare, the REST API and assistants say the same."""
