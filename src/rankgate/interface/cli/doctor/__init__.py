"""``rankgate doctor``: the installation and the project, what would fail, and how to fix it."""
