"""The work of a rater: pairs with their texts, and a journal of ratings."""
