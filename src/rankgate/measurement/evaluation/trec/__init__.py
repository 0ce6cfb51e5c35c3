"""Evaluate as trec_eval does: its files, options, columns and output."""
