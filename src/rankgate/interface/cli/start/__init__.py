"""``rankgate init``: a folder to begin with, by kind of user, every file explained."""
