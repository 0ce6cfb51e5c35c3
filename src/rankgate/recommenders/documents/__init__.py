"""The results of recommenders as tables and words."""
