"""The commands of comparison."""
