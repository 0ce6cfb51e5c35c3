"""Analysis of the stages of a ranking: ceilings, losses, the bottleneck."""
