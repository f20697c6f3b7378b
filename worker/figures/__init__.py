"""Figures: pure functions from frames and arrays to Plotly figures. No database, no Streamlit."""
