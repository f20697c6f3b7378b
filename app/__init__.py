"""The dashboard: Streamlit pages over the database. Never imports TensorFlow."""
