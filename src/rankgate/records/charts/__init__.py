"""Charts of histories."""
