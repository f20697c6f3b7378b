"""Colours, shared by Streamlit's theme and the Plotly figures."""
