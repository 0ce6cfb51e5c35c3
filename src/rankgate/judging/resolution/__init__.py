"""From several ratings to one judgment, by a named rule."""
