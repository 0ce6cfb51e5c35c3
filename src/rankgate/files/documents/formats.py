"""The formats: all of them as a table, one in full, or as a page of the documentation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.present.forms import as_json, as_markdown
from rankgate.present.forms.as_text import WIDTH
from rankgate.present.forms.paragraphs import beside
from rankgate.present.grid import Grid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankgate.files.formats import FormatFacts

FORMS = ("text", "json", "markdown")
"""The forms of formats, by the name that ``--format`` takes."""

_SCHEMA_VERSION = 1
_WORDS = {"qrels": "judgments"}


def render_all(formats: Sequence[FormatFacts], form: str, width: int = WIDTH) -> str:
    """Every format in one of `FORMS`."""
    if form == "json":
        listed = [each.to_dict() for each in formats]
        return as_json.dumped({"schema_version": _SCHEMA_VERSION, "formats": listed})
    if form == "markdown":
        return page(formats)
    room = [max(len(each.name) for each in formats), len("read, written")]
    return "".join(
        beside([each.name, _ways(each)], [f"{each.title} ({_suffixes(each)})"], room, width)
        for each in formats
    )


def render(facts: FormatFacts, form: str, width: int = WIDTH) -> str:
    """One format in one of `FORMS`."""
    if form == "json":
        return as_json.dumped({"schema_version": _SCHEMA_VERSION, **facts.to_dict()})
    if form == "markdown":
        return _section(facts)
    items = [(label, line) for label, line in _facts(facts).items() if line]
    room = [max(len(label) for label, _ in items)]
    rows = "".join(beside([label], [line], room, width) for label, line in items)
    return f"{facts.name}\n{beside([''], [facts.title], [0], width).lstrip()}\n{rows}"


def page(formats: Sequence[FormatFacts]) -> str:
    """The page ``docs/formats.md``: the table, then each format."""
    grid = Grid.of(
        {
            "format": [each.name for each in formats],
            "holds": [_holds(each) for each in formats],
            "read, written": [_ways(each) for each in formats],
            "suffixes": [_suffixes(each) for each in formats],
        },
        left=(0, 1, 2, 3),
    )
    table = as_markdown.table(grid)
    for each in formats:  # names are links; words in cells never are
        table = table.replace(f"\n| {each.name} |", f"\n| [{each.name}](#{each.name}) |")
    return "\n".join([_HEAD, table, "", *map(_section, formats), _TAIL])


_HEAD = """# Formats

What a file is, is found by looking into it, in the order of this table; the name of the file
decides nothing, but for topics and judgments by subtopic, which look like other files.
`--from NAME` of `rankgate convert`, and `NAME:PATH` wherever a command takes a file, say
otherwise. All may be compressed with gzip or zstd. `rankgate formats NAME` shows one.

A run in TREC, CSV, TSV, JSONL, Parquet or Arrow is read piece by piece, however long it is.
Judgments and the files of products are held in memory: a CSV takes about two to four times its
size (22,500,000 ratings of Quepid, 1.1 GB, became TREC's qrels with 2.6 GB), and one JSON document
may have 256 MB.
"""

_TAIL = """## From Python

Whatever takes judgments or a run takes a path, a frame (Polars, pandas, Arrow, anything with
`__arrow_c_stream__`), a dict of dicts, or an array: a row a query, a column a document. Arrays are
NumPy's, SciPy's sparse matrices, and tensors of any library that speaks DLPack, such as PyTorch
and JAX; none of these is imported. NaN in labels is unjudged, NaN or minus infinity in scores is
not ranked, and what a sparse matrix leaves out is not there. Documents by number are
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

Files may come from anywhere, so that what a small file may unpack to has limits; beyond them it
is an error that says so. A line has 16 MB at most, a JSON document 256 MB, 16 million values and
64 brackets inside each other; topics and query sets have 64 MB, and a Parquet or Arrow file that
is compressed once more 384 MB. A column of Parquet has 1 GB in one row group, and a table of it
that is not a run 100 million values. A query has 16 million documents in a run that is read
query by query.
"""


def _section(facts: FormatFacts) -> str:
    rows = [f"- {label}: {line}" for label, line in _facts(facts).items() if line and label]
    return "\n".join([f"## {facts.name}", "", f"{facts.title}.", "", *rows, ""])


def _facts(facts: FormatFacts) -> dict[str, str]:
    return {
        "holds": _holds(facts),
        "is": _ways(facts) + (", a run while it is read" if facts.streams else ""),
        "suffixes": _suffixes(facts),
        "known by": facts.detection,
        "cannot hold": facts.loses,
        "notes": facts.detail,
    }


def _ways(facts: FormatFacts) -> str:
    return "read, written" if facts.writes else "read"


def _holds(facts: FormatFacts) -> str:
    return ", ".join(_WORDS.get(part, part) for part in facts.holds)


def _suffixes(facts: FormatFacts) -> str:
    return " ".join(facts.suffixes)
