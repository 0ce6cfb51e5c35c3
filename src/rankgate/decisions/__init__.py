"""Decisions from numbers: comparisons, the gate, and their limits."""
