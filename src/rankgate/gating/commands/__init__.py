"""The commands of gating."""
