"""A ranking followed through its stages: ceilings, losses, the bottleneck."""
