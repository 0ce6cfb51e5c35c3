"""Targets of sweeps: an engine, a fusion of runs, a command that writes a run."""
