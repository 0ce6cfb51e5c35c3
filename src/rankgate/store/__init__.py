"""The store of judging: every fact in SQLite, or in PostgreSQL by URL; all SQL on it is here."""
