"""The charts of sweeps."""
