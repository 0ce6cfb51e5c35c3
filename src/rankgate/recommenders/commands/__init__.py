"""The commands of recommenders."""
