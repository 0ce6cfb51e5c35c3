"""The results of comparison as tables and words."""
