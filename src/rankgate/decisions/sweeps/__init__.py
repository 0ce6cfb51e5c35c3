"""Sweeps: measure settings of engines, fusions and commands point by point, and choose one."""
