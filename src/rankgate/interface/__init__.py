"""Interfaces for people and programs: commands, the demo, assistants, other libraries."""
