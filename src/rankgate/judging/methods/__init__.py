"""What judging computes: pools, assignment, agreement, resolution, admission."""
