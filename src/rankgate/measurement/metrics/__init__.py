"""Metrics: pure NumPy kernels and their declarations, one small file per family."""
