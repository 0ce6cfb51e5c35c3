"""Resolution: one judgment from several ratings, by a named rule."""
