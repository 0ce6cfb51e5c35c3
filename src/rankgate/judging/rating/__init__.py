"""A rater at work: pairs with their texts, and a journal of ratings."""
