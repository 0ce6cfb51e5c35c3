"""The results of reports as tables and words."""
