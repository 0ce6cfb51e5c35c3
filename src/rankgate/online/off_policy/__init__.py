"""What another policy would have earned, from a log with the propensities of what was shown."""
