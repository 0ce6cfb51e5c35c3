"""Metrics: pure NumPy kernels and their passports, one small file per family."""
