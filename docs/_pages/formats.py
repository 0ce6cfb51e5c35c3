"""The page of formats: the table, then each format (``docs/formats.md``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present import markup_tables
from rankgate.core.present.document_model import Grid
from rankgate.data.files.formats import formats

if TYPE_CHECKING:
    from rankgate.data.files.formats import FormatDetails

_HEAD = """# Formats

The format of a file is detected from its contents, in the order of this table. The name of the file
matters only for topics and judgments by subtopic, which look like other files. `--from NAME` of
every command that reads, and `NAME:PATH` wherever a command takes a file, set the format
explicitly. All may be compressed with gzip, zstd, bzip2 or xz. `rankgate formats NAME` shows one.

A run in TREC, CSV, TSV, JSONL, Parquet or Arrow is read piece by piece, however long it is.
Judgments and the files of products are kept in memory: a CSV takes about two to four times its
size (22,500,000 ratings of Quepid, 1.1 GB, became TREC's qrels with 2.6 GB), and one JSON document
may have 256 MB.

A folder is one table in several files, as Spark, DuckDB and warehouses write it
([part files](#part-files)), BEIR's, or one with an engine's answer to each query. `FILE:TABLE` is a table of a database, or
a sheet of a workbook.
"""

_TAIL = """## Part files

Wherever a command takes judgments, a run, a log, items, users, candidates or events, a folder is one
table: its files in the order of their names, all of one format (Parquet, Arrow, CSV, TSV, JSONL,
TREC; compressed or not) and with the same columns. Names that begin with `_` or `.`, such as
`_SUCCESS`, and empty files of text are passed over. Files are read one after another: a run in a
folder takes no more memory than one in a file. Errors name the file and line, a duplicate in two
files both of them:

```
rankgate eval test.qrels.csv/ new.parquet/ -m nDCG@10
```

A folder is never several runs: name their files. Files of several formats, of several TREC runs (by
their tags) or with other columns are an error that names one of them. Other errors are an empty
folder, a folder that Spark has not finished, folders of partitions (`day=1/`), and tables with a
log of the valid files (Delta, Hudi), which only Spark reads. `--columns` names columns of single
files.

## Checksums

A file that a disk or a copy damaged is an error where the damage can be known. Parquet and Arrow files that rankgate
writes, also the parts of a folder of events, have a CRC-32 between their data and their footer, which every
reader passes over and rankgate checks; gzip, and zstd and LZ4 as rankgate writes them, have their own.
What other tools wrote in Parquet, Arrow, zstd or LZ4 often has none: a flipped bit in a number can then
give another value without an error, as it can in plain text. Keep the SHA-256 that `rankgate describe` shows
where that matters.

## From Python

Whatever takes judgments or a run takes a path, a frame (Polars, pandas, Arrow, anything with
`__arrow_c_stream__`), a dict of dicts, or an array: a row a query, a column a document. Arrays are
NumPy's, SciPy's sparse matrices, and tensors of any library that speaks DLPack, such as PyTorch
and JAX; none of these is imported. NaN in labels is unjudged, NaN or minus infinity in scores is
not ranked, and entries that a sparse matrix leaves out are missing. Documents by number are
`rankgate.Lists`, and `rankgate.Matrix` gives names to rows and columns; see
[recommenders](recommenders.md#in-a-notebook). Padded labels and scores need both at once:

```python
>>> import numpy as np
>>> import rankgate
>>> labels = np.array([[3, 0, 1], [0, 2, -1]])  # -1 pads the row
>>> scores = np.array([[0.1, 0.9, 0.5], [0.4, 0.3, 7.0]])
>>> qrels, run = rankgate.from_arrays(labels, scores)  # or with mask=, query_ids=, doc_ids=
>>> rankgate.evaluate(qrels, run, ["nDCG@10"]).means.columns
['run', 'nDCG@10']

```

## Limits

Files may come from unknown sources, so the unpacked size of a small file is limited; a larger file
gives an error that names the limit. A line has 16 MB at most, a JSON document 256 MB, 16 million
values and 64 brackets inside each other; topics and query sets have 64 MB, and a Parquet or Arrow
file that is compressed once more 384 MB. A column of Parquet has 1 GB in one row group, and a table
of it that is not a run 100 million values. A query has 16 million documents in a run that is read
query by query.

A file that is compressed may unpack to 100 times its size, and to 64 MB in any
case, regardless of its content; `RANKGATE_MAX_EXPANSION` sets another factor, and 0 removes the limit. It
is a factor because runs of many GB are read piece by piece: text of runs and logs shrinks to
between a third and a twentieth, one list repeated for all users to a ninetieth, and files made to
fill the memory to a thousandth. Judgments are kept in memory, in about five times their size, and
are read up to 2,048 MB, unpacked; `RANKGATE_MAX_JUDGMENTS_MB` sets another limit, 0 removes it.
Each limit ends in an error that names it, with exit code 2.
"""


def page() -> str:
    """The page from the registry of formats."""
    all_formats = formats().formats
    rows = tuple((fmt.name, fmt.parts, fmt.access, fmt.endings) for fmt in all_formats)
    header = ("format", "holds", "read, written", "suffixes")
    table = markup_tables.markdown_table(Grid(header, rows, frozenset(range(4))))
    for fmt in all_formats:  # names are links; words in cells never are
        table = table.replace(f"\n| {fmt.name} |", f"\n| [{fmt.name}](#{fmt.name}) |")
    return "\n".join([_HEAD, table, "", *map(_section, all_formats), _TAIL])


def _section(result: FormatDetails) -> str:
    rows = [f"- {label}: {line}" for label, line in result.csv_rows().rows if line]
    return "\n".join([f"## {result.name}", "", f"{result.title}.", "", *rows, ""])
