"""Compare two or many systems query by query: differences, intervals, tests, power, slices."""
