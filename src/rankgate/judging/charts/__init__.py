"""The pictures of judging."""
