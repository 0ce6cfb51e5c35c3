"""The pictures of what unjudged documents could change."""
