"""The results of files as tables and words."""
