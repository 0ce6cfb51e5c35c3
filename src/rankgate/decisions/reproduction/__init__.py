"""Reproduction of published comparisons: similarity of rankings, and the audit of a table."""
