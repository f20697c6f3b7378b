"""One script per page; Streamlit runs them, nobody imports them."""
