"""What the chosen metrics cannot see."""
