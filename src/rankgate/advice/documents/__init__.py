"""The results of advice as tables and words."""
