"""The charts of pipelines."""
