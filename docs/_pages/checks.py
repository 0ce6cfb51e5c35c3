"""The page of checks: what ``rankgate validate`` looks for (``docs/validate.md``)."""

from __future__ import annotations

from rankgate.core.present import markup_tables
from rankgate.core.present.document_model import Grid
from rankgate.data.files.validate import make_checklist

_PAGE = """# What `rankgate validate` checks

    rankgate validate FILE... --against QRELS

An error stops rankgate from reading or scoring, a warning moves numbers, a note is good to know.
Every finding comes with file, line, count, an example and how to fix it; `--format json` has the
same for programs. The command exits with 2 if there are errors, with 0 otherwise.

What a check looks at: `failure`, why a file cannot be read; `bytes`, how it is written; `contents`,
what its reader saw; `qrels`, `ratings` and `run`, its rows as they are; `runs`, all runs that
were given; `both`, a run with the judgments that it is compared with; `queries`, a file of queries
with these; `golden`, the judgments as a golden set, with `--golden`.

    rankgate validate --golden QRELS QUERIES DOCUMENTS RATINGS RUN...

With `--golden` all files are looked at together: are the queries copied from their documents, does the corpus
still have the judged documents, which queries and documents are near-duplicates, did a judged model give the
labels, how many independent queries are there, which difference do they detect, and how old are the judgments?
Name as many of these files as you have; a note lists what was not checked without the others. Near-duplicates
need `pip install 'rankgate[golden]'`.
"""


def page() -> str:
    """The page from the registry of checks."""
    checks = make_checklist().csv_rows()
    table = markup_tables.markdown_table(Grid(checks.head, tuple(checks.rows), frozenset(range(4))))
    return f"{_PAGE}\n{table}\n"
