"""Power, and how many queries a difference needs."""
