"""The kinds of engines, one module for each group of kinds."""
