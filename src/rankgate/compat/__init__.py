"""Faces of other libraries: the same names, arguments and results, computed here."""
