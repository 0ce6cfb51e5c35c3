"""Admission of judges: a test that a judge agrees well enough with people."""
