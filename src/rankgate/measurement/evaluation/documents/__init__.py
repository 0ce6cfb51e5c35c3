"""The results of evaluation as tables and words."""
