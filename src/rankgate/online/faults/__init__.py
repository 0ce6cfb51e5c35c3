"""Faults of a log, and the figures that they spoil."""
