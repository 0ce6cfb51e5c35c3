"""Rating sheets: created, filled in by people, and read back."""
