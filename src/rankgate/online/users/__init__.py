"""How users differ: what they mean by a query, what personal lists give them, how they stay."""
