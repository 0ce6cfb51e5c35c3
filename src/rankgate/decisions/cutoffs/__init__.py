"""Where to cut off the scores of a system: thresholds with a guarantee, and what they cost."""
