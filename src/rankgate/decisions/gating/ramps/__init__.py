"""Launches in steps: decisions of the rules on KPIs on each day of an experiment."""
