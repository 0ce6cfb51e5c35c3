"""Policy and Comparison to Verdict."""
