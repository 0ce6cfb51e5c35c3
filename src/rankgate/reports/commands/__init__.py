"""The commands of reports."""
