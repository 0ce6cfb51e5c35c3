"""From ratings to judgments: pools, sheets, raters, agreement, resolution and admission."""
