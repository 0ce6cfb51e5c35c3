"""Tables with named columns: CSV, TSV, JSONL, Parquet, Arrow."""
