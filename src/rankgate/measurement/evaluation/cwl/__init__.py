"""Evaluate as cwl_eval does: its names, cost files and output."""
