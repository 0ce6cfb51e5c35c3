"""Admission of judges: a test that a judge agrees with people well enough to be used."""
