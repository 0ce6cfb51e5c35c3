"""Whether a judge agrees with people well enough to be used."""
