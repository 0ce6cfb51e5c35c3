"""From ratings to judgments: pools, aggregation, raters."""
