"""The results of explanation as tables and words."""
