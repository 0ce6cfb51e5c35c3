"""Records and histories as documents."""
