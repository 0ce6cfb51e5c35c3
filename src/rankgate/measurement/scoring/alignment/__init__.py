"""Rankings laid against judgments: order, ties, cuts, and blocks of whole queries."""
