"""What can be swept: an engine, a fusion of runs, a command that writes a run."""
