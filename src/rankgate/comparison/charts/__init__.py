"""The pictures of comparison."""
