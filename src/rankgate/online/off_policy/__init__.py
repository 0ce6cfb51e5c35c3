"""Off-policy evaluation, from a log with the propensities of what was shown."""
