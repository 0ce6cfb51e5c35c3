"""Users: intents of queries, impact of personalisation, and satisfaction over weeks."""
