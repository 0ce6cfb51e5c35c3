"""The commands of evaluation."""
