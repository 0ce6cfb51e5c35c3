"""Statistics of controlled experiments: numbers of arms in, estimates and bounds out."""
