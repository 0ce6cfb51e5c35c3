"""Recorded evaluations, comments on them, alerts, and scheduled jobs."""
