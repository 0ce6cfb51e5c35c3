"""Saved baselines, and the log of looks at them."""
