"""Rating sheets: created, filled by people, read again."""
