"""The results of engines as tables and words."""
