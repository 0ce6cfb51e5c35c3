"""Advice: which metrics to decide by, and which policy follows."""
