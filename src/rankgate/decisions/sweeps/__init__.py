"""Sweeps: settings of engines, fusions and commands measured point by point, and chosen."""
