"""MS MARCO's passage ranking task: the rules of its evaluation script, and its run files.

A run is ``query<TAB>passage<TAB>rank`` without a header. The script takes ranks as they are
written, looks at the first 10, and divides by all judged queries.
Source: github.com/microsoft/MSMARCO-Passage-Ranking, ``ms_marco_eval.py``.
"""

from typing import BinaryIO

import polars as pl

from rankgate.extend import Convention, FileContents, Format, InputError, InputFile, Loss, Run

MS_MARCO = Convention(
    "msmarco",
    title="MS MARCO's evaluation script: ranks as written, all judged queries count",
    source="github.com/microsoft/MSMARCO-Passage-Ranking, ms_marco_eval.py",
    order="file",
    missing="zero",
    unknown="ignore",
    spellings={"MRR @{k}": "RR@{k}"},
    defects=("every judgment counts as relevant, those of grade 0 too",),
)

_FIELDS = 3


def sniff(head: bytes, name: str) -> str | None:  # noqa: ARG001 - as every format
    """The name ends in .msmarco; the lines alone look like judgments."""
    return "the name ends in .msmarco" if name.endswith(".msmarco") else None


def read(source: InputFile) -> FileContents:
    """A run whose scores are the negative ranks."""
    rows = []
    for number, line in enumerate(source.everything().decode().splitlines(), 1):
        fields = line.split()
        if len(fields) != _FIELDS or not fields[2].isdigit():
            problem = "expected query, passage and rank, separated by tabs."
            raise InputError(problem, source=source.label, line=number, code="wrong-field-count")
        rows.append((fields[0], fields[1], -float(fields[2])))
    table = pl.DataFrame(rows, ["query_id", "doc_id", "score"], orient="row")
    table = table.sort("score", descending=True, maintain_order=True)
    return FileContents(runs=(Run(source.stem, lambda: iter([table])),))


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """The first run; scores become ranks."""
    run = contents.ranking("")
    order = ["query_id", "score"]
    table = run.table.sort(order, descending=[False, True], maintain_order=True)
    ranked = table.select("query_id", "doc_id", pl.int_range(1, pl.len() + 1).over("query_id"))
    out.write(ranked.write_csv(separator="\t", include_header=False).encode())
    return (*contents.losses("runs", runs=1), *Loss.of("scores", ["all"]))


FORMAT = Format(
    name="msmarco",
    title="MS MARCO's run files",
    suffixes=(".msmarco",),
    sniff=sniff,
    read=read,
    write=write,
    holds=("runs",),
    loses="scores",
    detail="query, passage and rank, separated by tabs; name it as in msmarco:run.tsv.",
)
