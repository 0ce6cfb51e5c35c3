"""Published tables of systems and metrics: their reader, and the result of ``audit``.

The reader takes CSV, Markdown or LaTeX. The result of ``audit`` holds cells and pairs of
systems of a published table.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import NoticeText, Result
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import SYSTEM
from rankgate.core.present.document_model import Points
from rankgate.core.present.layout import Sentence, View, fill
from rankgate.core.present.number_formats import count_noun
from rankgate.data.text.spreadsheet_cells import number_rows
from rankgate.decisions.reproduction.printed_cells import plain_text
from rankgate.measurement.metrics.metric_name_parser import parse

if TYPE_CHECKING:
    from rankgate.core.present.document_model import Block
    from rankgate.measurement.metrics.metric_declaration import Metric


Row = tuple[int, tuple[str, ...]]
"""The line of a row and its cells."""

_RULES = re.compile(
    r"\\(?:hline|toprule|midrule|bottomrule|addlinespace(?:\[[^]]*\])?|cline\{[^}]*\}"
    r"|cmidrule(?:\([^)]*\))?(?:\[[^]]*\])?\{[^}]*\})"
)
_SPAN = re.compile(r"\s*\\multicolumn\s*\{(\d+)\}")
_OPENING = re.compile(r"\\begin\{(?:tabular|longtable|array)\w*\*?\}")
_OTHER_COMMANDS = re.compile(r"\s*\\(?:begin|end|caption|label|centering|footnotesize|small)\b")
_RULE_LINE = re.compile(r"[\s|:\-+]+")


@dataclass(frozen=True)
class PublishedTable:
    """A printed table.

    Attributes:
        name: the name of its file.
        head: the name of each column.
        rows: the printed cells of each system, with markup.
        lines: the line of each row.
    """

    name: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    lines: tuple[int, ...]


def read_table(path: str | Path) -> PublishedTable:
    """Read the first table of a file; its format is recognised by its text.

    Raises:
        InputError: a file without a table, or a row that is longer than the head.
    """
    table_path = Path(path)
    try:
        text = table_path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        problem = "not a text file that can be read; check the path."
        raise InputError(problem, source=str(path), code="unreadable-table") from None
    if "\\\\" in text and "&" in text:
        rows_with_head = _latex(text)
    elif any(line.lstrip().startswith("|") for line in text.splitlines()):
        rows_with_head = _markdown(text)
    else:
        rows_with_head = _csv(text, str(path))
    if len(rows_with_head) < 2 or len(rows_with_head[0][1]) < 2:
        problem = "no table with a header and rows; give CSV, Markdown or LaTeX."
        raise InputError(problem, source=str(path), code="no-table")
    (_, heading), *rows = _merge_headings(rows_with_head)
    for line, cells in rows:
        if len(cells) > len(heading):
            problem = (
                f"{count_noun(len(cells), 'cell')} under {len(heading)} column names; name every column."
            )
            raise InputError(problem, source=str(path), line=line, code="too-many-cells")
    padded_rows = [(line, (*cells, *[""] * (len(heading) - len(cells)))) for line, cells in rows]
    return PublishedTable(
        table_path.name,
        _number_duplicates(heading),
        tuple(cells for _, cells in padded_rows),
        tuple(line for line, _ in padded_rows),
    )


def _merge_headings(rows: list[Row]) -> list[Row]:
    """Merge two heading rows into one, if the first row names groups of columns."""
    (_, upper_cells), (line, lower_cells), *other_rows = rows
    names = [plain_text(cell) for cell in lower_cells]
    if (
        not other_rows
        or _is_metric(upper_cells)
        or not _is_metric(lower_cells)
        or len(lower_cells) < len(upper_cells)
    ):
        return rows
    groups = [plain_text(cell) for cell in upper_cells] + [""] * (len(names) - len(upper_cells))
    for column in range(2, len(groups)):
        groups[column] = groups[column] or groups[column - 1]  # a header of a group spans columns
    repeated_names = {name for name in names if names.count(name) > 1}
    headings = [
        f"{name} ({group})" if name in repeated_names and group else name
        for name, group in zip(names, groups, strict=True)
    ]
    return [(line, tuple(headings)), *other_rows]


def _is_metric(cells: tuple[str, ...]) -> bool:
    """True if a cell names a metric."""
    return any(metric_of(plain_text(cell)) is not None for cell in cells[1:])


def metric_of(heading: str) -> Metric | None:
    """The metric that a heading names; None for other headings."""
    name = re.sub(r" #\d+$|[(\[].*|%.*|[x×]\s*100\b.*", "", heading).strip(" ,/")
    name = re.sub(r"@(\d+)[,.\s](\d{3})\b", r"@\1\2", name)
    try:
        return parse(re.sub(r"@(\d+)[kK]\b", r"@\g<1>000", name))
    except UsageError:
        return None


def _number_duplicates(headings: tuple[str, ...]) -> tuple[str, ...]:
    """Names of columns; equal names get a number."""
    names: list[str] = []
    for cell in headings:
        name = plain_text(cell)
        same_name_count = sum(
            1 for earlier_name in names if earlier_name == name or earlier_name.startswith(f"{name} #")
        )
        names.append(f"{name} #{same_name_count + 1}" if same_name_count else name)
    return tuple(names)


def _csv(text: str, label: str) -> list[Row]:
    separator = max(",;\t", key=text.lstrip().partition("\n")[0].count)
    rows = number_rows(text, separator, label)
    return [(line, tuple(cells)) for line, cells in rows if any(map(str.strip, cells))]


def _markdown(text: str) -> list[Row]:
    rows: list[Row] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.lstrip().startswith("|"):
            if rows:
                break
            continue
        if not _RULE_LINE.fullmatch(line):
            cells = re.split(r"(?<!\\)\|", line.strip()[1:].removesuffix("|"))
            rows.append((number, tuple(cells)))
    return rows


def _latex(text: str) -> list[Row]:
    rows: list[Row] = []
    unfinished_row = ""
    for number, line in enumerate(text.splitlines(), 1):
        content = re.sub(r"(?<!\\)%.*", "", line)
        if opening_match := _OPENING.search(content):
            content = content[opening_match.end() :].lstrip()
            while content.startswith(("{", "[")):
                content = _after_argument(content)
        elif _OTHER_COMMANDS.match(content):
            continue
        unfinished_row += " " + content
        *complete_rows, unfinished_row = _split(unfinished_row, "\\\\")
        for row in complete_rows:
            cells = _split(_RULES.sub("", re.sub(r"^\s*(?:\*|\[[^]]*\])", "", row)), "&")
            if len(cells) > 1:
                rows.append((number, _expand_spans(cells)))
    return rows


def _after_argument(text: str) -> str:
    """The text after an argument in braces or brackets."""
    closing_bracket = {"{": "}", "[": "]"}[text[0]]
    depth = 0
    for position, character in enumerate(text):
        depth += (character == text[0]) - (character == closing_bracket)
        if not depth:
            return text[position + 1 :].lstrip()
    return ""


def _split(text: str, separator: str) -> list[str]:
    r"""Parts of LaTeX between separators that are outside of braces."""
    parts, depth, part_start, position = [], 0, 0, 0
    while position < len(text):
        if not depth and text.startswith(separator, position):
            parts.append(text[part_start:position])
            position = part_start = position + len(separator)
            continue
        if text[position] == "\\":
            position += 1
        else:
            depth += {"{": 1, "}": -1}.get(text[position], 0)
        position += 1
    return [*parts, text[part_start:]]


def _expand_spans(cells: list[str]) -> tuple[str, ...]:
    """The cells, with empty cells added after a cell that spans several columns."""
    row: list[str] = []
    for cell in cells:
        span = _SPAN.match(cell)
        row += [cell, *[""] * (int(span[1]) - 1 if span else 0)]
    return tuple(row)


CELLS = Columns(
    "One row per number of the table.",
    SYSTEM,
    Column("column", pl.String, "the column of the table"),
    Column("metric", pl.String, "the metric that the column is taken for; null: unknown"),
    Column("printed", pl.String, "the number as it is printed"),
    Column("line", pl.Int64, "the line of the file that it is in", "d"),
    Column("n", pl.Int64, "queries that the mean is over", unit="queries"),
    Column("low", pl.Float64, "the lowest mean that is printed so"),
    Column("high", pl.Float64, "the highest mean that is printed so"),
    Column(
        "status",
        pl.String,
        "possible, impossible, unknown, or unread where the cell has no number that can be read",
    ),
    Column("why", pl.String, "the reason of the status"),
)
PAIRS = Columns(
    "One row per column of the table.",
    Column("column", pl.String, "the column of the table"),
    Column("best", pl.String, "the best system"),
    Column("second", pl.String, "the second best system"),
    Column(
        "difference", pl.Float64, "their largest difference before rounding", header="difference\nat most"
    ),
    Column("needed", pl.Float64, "the smallest difference that is significant"),
    Column("status", pl.String, "resolvable, unresolvable or unknown"),
    Column("why", pl.String, "the reason of the status"),
)

POSSIBLE, IMPOSSIBLE, UNRESOLVABLE, CONSISTENT, UNKNOWN, UNREAD = (
    "possible",
    "impossible",
    "unresolvable",
    "consistent",
    "unknown",
    "unread",
)


_LEAD = {
    IMPOSSIBLE: "Some numbers cannot be means over so many queries.",
    UNRESOLVABLE: "No metric separates the best system from the second.",
    CONSISTENT: "",
    UNKNOWN: "Most could not be checked: that decides nothing.",
}
_REASONED = ("line", "system", "column", "printed", "why")


def _unknown_columns(audit: TableAudit) -> Iterator[Block]:
    """The columns of numbers that could not be checked, by reason."""
    unknown_cells = audit.cells.filter(status=UNKNOWN)
    reasons = unknown_cells.group_by("why", maintain_order=True).agg(pl.col("column").unique().sort())
    yield Points(tuple(fill("{column}: {why}", audit, row) for row in reasons.iter_rows(named=True)))


@dataclass(frozen=True)
class TableAudit(Result):
    """The possible and impossible numbers of a published table, and the systems they separate.

    Attributes:
        table: where it is from.
        verdict: ``impossible`` where a number is; ``unresolvable`` if no metric separates
            the best system from the second; ``consistent``; ``unknown`` where nothing could be
            checked.
        cells: the columns of `CELLS`.
        pairs: the columns of `PAIRS`.
        sd: the standard deviation of per-query differences that was supposed.
        level: of significance, as 0.95.
    """

    kind = "table_audit"
    label = "Audit of a table"
    order = 28
    SCHEMAS: ClassVar = {"cells": CELLS, "pairs": PAIRS}
    headline_text = "{table}: {verdict}"
    lead = ("{summary}",)
    layout = (
        View("cells", "impossible", _REASONED, row_filter=pl.col("status") == IMPOSSIBLE),
        View("cells", "not read", _REASONED, row_filter=pl.col("status") == UNREAD),
        View("pairs", "best and second"),
        _unknown_columns,
        Sentence(
            "{cells.height:n cell}: {counts[possible]} possible, {counts[impossible]} impossible, "
            "{counts[unknown]} unknown, {counts[unread]} not read. A printed number can be any mean that "
            "rounds to it; one that was cut off, or that is over several runs of a system, can look "
            "impossible. Needed is the smallest difference that is significant at {alpha:.2g} if per-query "
            "differences have a standard deviation of {sd:g}; usual ones are larger."
        ),
    )
    notice_texts = tuple(
        NoticeText(
            code,
            "{system}: {column} {printed}: {why}",
            source="cells",
            subject="{system}",
            rows=pl.col("status") == status,
        )
        for status, code in ((IMPOSSIBLE, "impossible-mean"), (UNREAD, "unread-cell"))
    )

    table: str
    verdict: str
    cells: pl.DataFrame
    pairs: pl.DataFrame
    sd: float
    level: float

    @property
    def status(self) -> int:
        """The exit code: 1 if a number is impossible, 0 if all is consistent, else 3."""
        return {IMPOSSIBLE: 1, CONSISTENT: 0}.get(self.verdict, 3)

    @property
    def outcome(self) -> str:
        """Pass if all is consistent, fail if a number is impossible."""
        return {IMPOSSIBLE: "fail", CONSISTENT: "pass"}.get(self.verdict, "inconclusive")

    @property
    def counts(self) -> Counter[str]:
        """The number of cells by status."""
        return Counter(self.cells["status"])

    @property
    def alpha(self) -> float:
        """The level of the tests."""
        return 1 - self.level

    @property
    def summary(self) -> str:
        """What the verdict is based on."""
        possible, unknown = self.counts[POSSIBLE], self.counts[UNKNOWN]
        if self.counts[IMPOSSIBLE]:
            checked = ""
        elif unknown:
            checked = (
                f"{possible} of {count_noun(self.cells.height, 'number')} could be checked"
                f"{', and are possible' if possible else ''}; {unknown} could not, for the reasons below."
            )
        else:
            checked = "Every number is possible."
        return f"{checked} {_LEAD[self.verdict]}".strip()
