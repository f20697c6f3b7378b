"""What Streamlit has no widget for, and the parts of pages that are more than a few lines."""
