"""Intervals and tests by resampling."""
