"""Launches in steps: what the rules on KPIs allow on each day of an experiment."""
