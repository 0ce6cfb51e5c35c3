"""Shared foundations: errors, declared objects, results and documents, terminal."""
