"""What to judge next, so that a comparison is settled for the least cost."""
