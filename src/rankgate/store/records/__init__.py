"""Recorded evaluations, what people say about them, alerts, and scheduled jobs."""
