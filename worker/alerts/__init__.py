"""Alerts: what is configured (`configuration`), what has happened (`detection`), what is said about
it (`messages`, `formats`), and how it gets there (`sending`, `sender`)."""
