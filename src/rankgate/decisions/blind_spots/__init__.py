"""Find changes that the chosen metrics cannot see."""
