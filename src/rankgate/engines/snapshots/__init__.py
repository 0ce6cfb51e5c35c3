"""Snapshots: send queries, keep answers, write runs."""
