"""Language models as raters: protocols, the HTTP client, costs, and the requests for ratings."""
