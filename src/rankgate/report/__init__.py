"""Result objects as words and tables; nothing is computed here that a reader would quote."""
