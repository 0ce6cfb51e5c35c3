"""Language models as raters: protocols, one HTTP client, what it costs, and the work itself."""
