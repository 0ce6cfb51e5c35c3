"""The results of judging as tables and words."""
