"""How one value came about, and why two tools give different numbers."""
