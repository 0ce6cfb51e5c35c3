"""The results of gating as tables and words."""
