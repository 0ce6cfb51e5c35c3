"""Evaluations recorded over time: record, history, change-points."""
