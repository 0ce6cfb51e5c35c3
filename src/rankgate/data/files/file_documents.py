"""Documents of conversions, formats, re-anchored judgments and validations.

A conversion shows rows written, losses and notes. Formats are shown as a list, or one in detail.
Re-anchored judgments are shown as counts by status, with the documents that have no judgment now. A
validation shows findings, or the list of checks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.present.document_model import (
    Document,
    Entries,
    Entry,
    Grid,
    PlainRows,
    Table,
    Warnings,
    make_printable,
)
from rankgate.core.present.document_model import make_document as made
from rankgate.core.present.number_formats import count_noun

if TYPE_CHECKING:
    from rankgate.data.files.conversion import Conversion
    from rankgate.data.files.formats import FormatDetails, Formats
    from rankgate.data.files.reanchor import Reanchored
    from rankgate.data.files.validate import CheckedFile, Checklist, Problem, Validation


_PARTS = {"qrels": "judgments", "runs": "lines of runs", "values": "metric values"}


def conversion_document(result: Conversion) -> Document:
    """The files read and written, then one line for each note and each loss."""
    row_counts = ", ".join(f"{count:,} {_PARTS.get(name, name)}" for name, count in result.rows.items())
    entries = [
        Entry("read", (f"{result.source} as {result.from_format}: {result.reason}",)),
        Entry("written", (f"{result.target} as {result.to_format}: {row_counts or 'nothing'}",)),
        *([Entry("seen", tuple(note.words for note in result.notes))] if result.notes else []),
        Entry("lost", tuple(loss.words for loss in result.losses) or ("nothing",)),
    ]
    table = result.to_polars().rows()
    rows = [(kind, count, note_text, ", ".join(examples)) for kind, count, note_text, examples in table]
    title = f"{result.source} to {result.target}"
    return made(title, Entries(tuple(entries)), rows=PlainRows(("kind", "count", "what", "examples"), rows))


_PART_LABELS = {"qrels": "judgments"}


def listed(result: Formats) -> Document:
    """Every format with its title and suffixes."""
    rows = tuple(
        (details.name, access_label(details), f"{details.title} ({suffixes(details)})")
        for details in result.formats
    )
    grid = Grid(("format", "read, written", "what it is"), rows, frozenset(range(3)))
    column_names = ("format", "holds", "read, written", "suffixes", "title")
    full_rows = [
        (details.name, parts_label(details), access_label(details), suffixes(details), details.title)
        for details in result.formats
    ]
    return made(
        f"{len(result)} formats", Table("", grid, prose=True), rows=PlainRows(column_names, full_rows)
    )


def details(result: FormatDetails) -> Document:
    """The detection, contents and limits of one format."""
    entries = tuple(Entry(label, (line,)) for label, line in facts(result).items() if line)
    return made(
        result.name,
        Entries(entries),
        lead=(result.title,),
        rows=PlainRows(("what", "value"), list(facts(result).items())),
    )


def facts(result: FormatDetails) -> dict[str, str]:
    """The facts about a format, by label."""
    return {
        "holds": parts_label(result),
        "is": access_label(result) + (", a run while it is read" if result.streams else ""),
        "suffixes": suffixes(result),
        "known by": result.detection,
        "cannot hold": result.loses,
        "notes": result.detail,
    }


def access_label(result: FormatDetails) -> str:
    """'read' or 'read, written'."""
    return "read, written" if result.writes else "read"


def parts_label(result: FormatDetails) -> str:
    """The names of the parts that a format can hold."""
    return ", ".join(_PART_LABELS.get(name, name) for name in result.holds)


def suffixes(result: FormatDetails) -> str:
    """The suffixes of a format's files."""
    return " ".join(result.suffixes)


_MAX_ROWS = 20
_STATUS_MEANINGS = {
    "valid": "the same text under the same id",
    "moved": "the text has another id",
    "split": "the text is in several documents now",
    "merged": "the text is in a longer document",
    "ambiguous": "several documents are as near",
    "lost": "less than half of the text is anywhere",
}


def reanchored_document(result: Reanchored) -> Document:
    """The number of judgments that are kept, by the status of their document."""
    unjudged = result.labels.filter(~pl.col("kept")).sort("grade", descending=True, maintain_order=True)
    heading = f"the {_MAX_ROWS} of the highest grade of {len(unjudged):,} that are unjudged now"
    return made(
        reanchored_summary(result),
        Table("what became of judged documents", _counts(result)),
        Table(
            heading if len(unjudged) > _MAX_ROWS else "unjudged now", _unjudged_grid(unjudged.head(_MAX_ROWS))
        ),
        Warnings.from_notices(result.notices),
        f"The new judgments are {count_noun(len(result.judgments), 'grade')}. They do not contain unjudged "
        "documents. Every decision is in the CSV and JSON of this result.",
        rows=PlainRows(tuple(result.decisions.columns), list(result.decisions.iter_rows())),
    )


def reanchored_summary(result: Reanchored) -> str:
    """The share of relevant judgments that apply to a new document, then that of all judgments."""
    relevant, reached = result.relevant
    total, kept_count = (sum(counts) for counts in zip(*result.counts.values(), strict=True))
    everything = f"{kept_count:,} of {count_noun(total, 'judgment')} in all"
    if not relevant:
        return f"no judgment is relevant; {everything} reached a new document"
    share = f"{reached / relevant:.1%}"
    return (
        f"{reached:,} of {count_noun(relevant, 'relevant judgment')} ({share}) reached a new document; "
        f"{everything}"
    )


def _counts(result: Reanchored) -> Grid:
    rows = tuple(
        (status, f"{count:,}", f"{kept_count:,}", _STATUS_MEANINGS[status])
        for status, (count, kept_count) in result.counts.items()
    )
    return Grid(("status", "judgments", "kept", "meaning"), rows, frozenset({0, 3}))


def _unjudged_grid(labels: pl.DataFrame) -> Grid:
    rows = tuple(
        (make_printable(row["query_id"]), make_printable(row["old_doc"]), f"{row['grade']:g}", row["status"])
        for row in labels.iter_rows(named=True)
    )
    return Grid(("query", "document", "grade", "status"), rows, frozenset({0, 1, 3}))


def validation_document(result: Validation) -> Document:
    """The number of problems of each severity, then the problems of each file."""
    files = [subject.file for subject in result.files] + [subject.file for subject in result.problems]
    parts = [_file(result, label) for label in dict.fromkeys(files)]
    grid = problems(result)
    return made(validation_summary(result), *parts, rows=PlainRows(grid.head, grid.rows))


def checklist(result: Checklist) -> Document:
    """Every check."""
    grid = checks(result)
    rows = tuple((name, severity, title) for name, severity, _, title in grid.rows)
    short_grid = Grid(("check", "severity", "finds"), rows, frozenset(range(3)))
    heading = f"rankgate validate looks for {len(result)} problems"
    return made(heading, Table("", short_grid, prose=True), rows=PlainRows(grid.head, grid.rows))


def problems(result: Validation) -> Grid:
    """The problems, one row each."""
    rows = [
        (
            problem.severity,
            problem.check,
            f"{problem.file}:{problem.line}" if problem.line else problem.file,
            problem.what,
            problem.example,
            problem.mend,
        )
        for problem in result.problems
    ]
    column_names = ("severity", "check", "where", "what", "example", "mend")
    return Grid(column_names, tuple(rows), frozenset(range(len(column_names))))


def checks(result: Checklist) -> Grid:
    """Every check, one row each."""
    rows = [(check.name, check.severity, check.needs, check.title) for check in result.checks]
    column_names = ("check", "severity", "looks at", "finds")
    return Grid(column_names, tuple(rows), frozenset(range(len(column_names))))


def validation_summary(result: Validation) -> str:
    """One line with the numbers of errors, warnings and notes."""
    counts = [count_noun(count, severity) for severity, count in result.counts.items() if count]
    return ", ".join(counts) or "no errors, warnings or notes"


def _file(result: Validation, label: str) -> Entries:
    """The problems of one file."""
    checked_file = next((file for file in result.files if file.file == label), None)
    entries = [_entry(problem) for problem in result.problems if problem.file == label]
    return Entries(tuple(entries or [Entry("", ("no problems found",))]), _file_heading(label, checked_file))


def _file_heading(label: str, checked_file: CheckedFile | None) -> str:
    if checked_file is None:
        return make_printable(label)
    content = [
        count_noun(count, noun)
        for count, noun in ((checked_file.judgments, "judgment"), (checked_file.ranked, "ranked document"))
        if count
    ]
    format_notes = [f"read as {checked_file.format}"] if checked_file.format not in {"?", "memory"} else []
    text = ", ".join([*format_notes, *content])
    return make_printable(label) + (f": {text}" if text else "")


def _entry(problem: Problem) -> Entry:
    line_label = f"line {problem.line}: " if problem.line else ""
    lines = [f"{line_label}{problem.what} [{problem.check}]"]
    lines += [f"example: {problem.example}"] if problem.example else []
    lines += [f"mend: {problem.mend}"] if problem.mend else []
    return Entry(problem.severity, tuple(lines))
