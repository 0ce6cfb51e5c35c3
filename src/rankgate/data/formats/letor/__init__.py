"""Files for learning to rank."""
