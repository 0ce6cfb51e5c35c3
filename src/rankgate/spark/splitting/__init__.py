"""Split a log on Spark: sorted by user once, then cut by the functions of the local engine."""
