"""The floor for a small run: an interpreter that imports what we import and reads the file."""

import sys

import numpy as np  # noqa: F401 - the import is what is measured
import polars as pl

pl.read_csv(sys.argv[2], has_header=False, separator=" ", quote_char=None)
