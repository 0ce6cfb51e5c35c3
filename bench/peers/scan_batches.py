"""The floor for a run larger than memory: the three columns go by in batches, in file order."""

import sys

import polars as pl

TEXT = ("query_id", "Q0", "doc_id", "rank", "tag")
FIELDS = ("query_id", "Q0", "doc_id", "rank", "score", "tag")

schema = {name: pl.String if name in TEXT else pl.Float64 for name in FIELDS}
rows = pl.scan_csv(sys.argv[2], has_header=False, separator=" ", quote_char=None, schema=schema).select(
    "query_id", "doc_id", "score"
)
for batch in rows.collect_batches(engine="streaming"):
    del batch
