"""``rankgate init``: a starting folder for each kind of user; a README explains every file."""
