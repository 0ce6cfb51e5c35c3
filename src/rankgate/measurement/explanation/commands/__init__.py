"""Commands of explanations."""
