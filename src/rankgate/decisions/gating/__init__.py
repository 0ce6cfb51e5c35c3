"""The gate: policies, rules, baselines and verdicts."""
