"""Experiments with users: arms compared on KPIs, planned before and watched while they run."""
