"""The kinds of engines, one module each; a new one is one more module."""
