"""Rankings compared: correlations, orders, tests of ranks."""
