"""Document of file contents: tables and facts."""

from __future__ import annotations

import polars as pl

from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import RUN
from rankgate.core.present.layout import FactList, Layout, Sentence, View

_SPREAD = (
    Sentence(
        ", {per_query.most:,} a query",
        lambda table: table.per_query and table.per_query.least == table.per_query.most,
    ),
    Sentence(
        "; a query has {per_query.least:,} to {per_query.most:,}, the middle one {per_query.median:,g}",
        lambda table: table.per_query and table.per_query.least < table.per_query.most,
    ),
)
_JUDGMENTS = FactList(
    (
        (
            "judgments",
            (
                "{judgments:,} of {documents:n document} for {queries:n query}",
                Sentence(", {unjudged:,} more without any", "unjudged"),
                *_SPREAD,
            ),
        ),
        (
            "grades",
            (
                "{grade_counts}",
                Sentence("none", lambda judgments: not judgments.grades),
                Sentence("; queries without a positive grade: {without_positive:,}", "without_positive"),
                Sentence("; on a scale from {scale[0]:g} to {scale[1]:g}", "scale"),
            ),
        ),
        ("--selection", "{selection_advice}"),
        ("content", "{sha256}"),
    ),
    source="judgments",
)
_RUNS = FactList(
    (
        (
            "run",
            (
                "{name}",
                Sentence(" (tag {tag})", "tag"),
                ": {rows:n row} of {documents:n document} for {queries:n query}",
                *_SPREAD,
            ),
        ),
        (
            "scores",
            (
                Sentence("no scores", lambda run: run.lowest is None),
                Sentence("{lowest:g} to {highest:g}", lambda run: run.lowest is not None),
                "; rows tied with the one above: {tied:,}",
            ),
        ),
        ("content", "{sha256}"),
    ),
    source="runs",
)
_RATINGS = FactList(
    (
        (
            "ratings",
            (
                "{ratings:,} by {raters:n rater} of {pairs:n pair} of {queries:n query}; ",
                "{shared:n pair has/pairs have} grades of several raters, ",
                "{ungraded:n rating has/ratings have} no grade",
            ),
        ),
    ),
    source="ratings",
)
_TABLES = FactList(
    (
        (
            "{name}",
            (
                "{ids:n id} in {source}, with {matched:,} of the {judged:,} judged {of}",
                Sentence("; {missing:,} are missing", "missing"),
            ),
        ),
    ),
    source="tables",
)
_NOTES = FactList(
    (
        (
            "seen",
            (
                "{count:,} {what}",
                Sentence(": {examples}", "examples"),
                Sentence(", …", lambda note: note.examples and note.count > len(note.examples)),
            ),
        ),
    ),
    source="notes",
)
_FILES = FactList(
    (
        ("format", "{format}: {reason}"),
        _JUDGMENTS,
        _RUNS,
        _RATINGS,
        ("queries", Sentence("{queries:,}", lambda file: file.queries is not None)),
        ("documents", Sentence("{documents:,}", lambda file: file.documents is not None)),
        ("values", Sentence("{values:,}", lambda file: file.values is not None)),
        _TABLES,
        _NOTES,
        ("bytes", Sentence("{bytes:,}", "sha256")),
        ("sha256", "{sha256}"),
    ),
    "{file}",
    "files",
)
_OVERLAPS = Columns(
    "One row per pair of files.",
    Column("first", pl.String, "a file", header="file"),
    Column("second", pl.String, "another file", header="and file"),
    Column("shared_queries", pl.Int64, "queries of both", header="queries\nin common"),
    Column("shared_documents", pl.Int64, "documents of both", header="documents\nin common"),
)
_HOLES = Columns(
    "One row per run and judgments.",
    RUN,
    Column("qrels", pl.String, "the judgments", header="judgments"),
    Column("queries", pl.Int64, "queries of both"),
    Column("judged", pl.Float64, "the share of judged documents among the first", ".1%"),
)
DESCRIPTION_LAYOUT: Layout = (
    _FILES,
    View("overlaps", columns=_OVERLAPS),
    View("holes", columns=_HOLES, headers={"judged": "judged@{holes[0].cutoff}"}),
)
"""The facts of each file, then the overlap of files, and the judged shares."""
