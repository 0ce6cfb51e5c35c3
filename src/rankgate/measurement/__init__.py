"""From judgments and runs to numbers: statistics, metrics, scoring, verbs."""
