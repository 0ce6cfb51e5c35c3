"""The pictures of pipelines."""
