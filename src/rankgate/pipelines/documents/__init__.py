"""The results of pipelines as tables and words."""
