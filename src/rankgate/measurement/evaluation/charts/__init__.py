"""The pictures of evaluation."""
