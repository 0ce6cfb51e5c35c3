"""Evaluations recorded over time: records, their history and change-points."""
