"""``rankgate plugins``: what is installed, from where, what it adds, whether it fits."""
