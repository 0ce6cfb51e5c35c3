"""ranx's files."""
