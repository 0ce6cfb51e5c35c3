"""Explain one value, and why two tools give different numbers."""
