"""Alerts: where they are sent (`channels`), what is sent (`rules`), and what is on its way
(`deliveries`)."""
