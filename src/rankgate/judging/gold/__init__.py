"""Gold labels, checked by raters who have not seen them."""
