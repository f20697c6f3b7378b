"""One script per page; Streamlit runs them; they are never imported."""
