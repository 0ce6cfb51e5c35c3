"""Migrations of the store, in their order."""
