"""The commands of files."""
