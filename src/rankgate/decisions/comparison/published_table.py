"""Read a published table of systems and metrics: CSV, Markdown or LaTeX."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import TYPE_CHECKING

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.decisions.comparison.printed_cells import plain_text
from rankgate.measurement.metrics.names import parse

if TYPE_CHECKING:
    from rankgate.measurement.metrics.declare import Metric

Row = tuple[int, tuple[str, ...]]
"""The line of a row and its cells."""

_RULES = re.compile(
    r"\\(?:hline|toprule|midrule|bottomrule|addlinespace(?:\[[^]]*\])?|cline\{[^}]*\}"
    r"|cmidrule(?:\([^)]*\))?(?:\[[^]]*\])?\{[^}]*\})"
)
_SPAN = re.compile(r"\s*\\multicolumn\s*\{(\d+)\}")
_OPENING = re.compile(r"\\begin\{(?:tabular|longtable|array)\w*\*?\}")
_ASIDE = re.compile(r"\s*\\(?:begin|end|caption|label|centering|footnotesize|small)\b")
_RULED = re.compile(r"[\s|:\-+]+")


@dataclass(frozen=True)
class PublishedTable:
    """A table as it was printed.

    Attributes:
        name: where it is from.
        head: the name of each column.
        rows: the cells of each system as they are printed, with their markup.
        lines: the line of each row.
    """

    name: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    lines: tuple[int, ...]


def read_table(path: str | Path) -> PublishedTable:
    """Read the first table of a file; what it is follows from its text.

    Raises:
        InputError: a file without a table, or a row that is longer than the head.
    """
    place = Path(path)
    try:
        text = place.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        problem = "not a text file that can be read; check the path."
        raise InputError(problem, source=str(path), code="unreadable-table") from None
    if "\\\\" in text and "&" in text:
        found = _latex(text)
    elif any(line.lstrip().startswith("|") for line in text.splitlines()):
        found = _markdown(text)
    else:
        found = _csv(text)
    if len(found) < 2 or len(found[0][1]) < 2:
        problem = "no table with a head and rows; give CSV, Markdown or LaTeX."
        raise InputError(problem, source=str(path), code="no-table")
    (_, head), *rows = _with_one_head(found)
    for line, cells in rows:
        if len(cells) > len(head):
            problem = f"{len(cells)} cells under {len(head)} heads; give each column a head."
            raise InputError(problem, source=str(path), line=line, code="too-many-cells")
    wide = [(line, (*cells, *[""] * (len(head) - len(cells)))) for line, cells in rows]
    return PublishedTable(place.name, _distinct(head), tuple(cells for _, cells in wide),
                          tuple(line for line, _ in wide))  # fmt: skip


def _with_one_head(rows: list[Row]) -> list[Row]:
    """Rows under one head, where the first row has names of groups of columns."""
    (_, upper), (line, lower), *others = rows
    names = [plain_text(cell) for cell in lower]
    if not others or _is_metric(upper) or not _is_metric(lower) or len(lower) < len(upper):
        return rows
    groups = [plain_text(cell) for cell in upper] + [""] * (len(names) - len(upper))
    for at in range(2, len(groups)):
        groups[at] = groups[at] or groups[at - 1]  # a group stands over several columns
    repeated = {name for name in names if names.count(name) > 1}
    head = [f"{name} ({group})" if name in repeated and group else name
            for name, group in zip(names, groups, strict=True)]  # fmt: skip
    return [(line, tuple(head)), *others]


def _is_metric(cells: tuple[str, ...]) -> bool:
    """True if a cell names a metric."""
    return any(metric_of(plain_text(cell)) is not None for cell in cells[1:])


def metric_of(head: str) -> Metric | None:
    """The metric that a head names; None where it names none."""
    name = re.sub(r" #\d+$|[(\[].*|%.*|[x×]\s*100\b.*", "", head).strip(" ,/")
    name = re.sub(r"@(\d+)[,.\s](\d{3})\b", r"@\1\2", name)
    try:
        return parse(re.sub(r"@(\d+)[kK]\b", r"@\g<1>000", name))
    except UsageError:
        return None


def _distinct(head: tuple[str, ...]) -> tuple[str, ...]:
    """Names of columns, with a number where two are equal."""
    names: list[str] = []
    for cell in head:
        name = plain_text(cell)
        again = sum(1 for other in names if other == name or other.startswith(f"{name} #"))
        names.append(f"{name} #{again + 1}" if again else name)
    return tuple(names)


def _csv(text: str) -> list[Row]:
    first = text.lstrip().partition("\n")[0]
    separator = max(",;\t", key=first.count)
    reader = csv.reader(text.splitlines(), delimiter=separator)
    return [(reader.line_num, tuple(row)) for row in reader if any(map(str.strip, row))]


def _markdown(text: str) -> list[Row]:
    rows: list[Row] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.lstrip().startswith("|"):
            if rows:
                break
            continue
        if not _RULED.fullmatch(line):
            cells = re.split(r"(?<!\\)\|", line.strip()[1:].removesuffix("|"))
            rows.append((number, tuple(cells)))
    return rows


def _latex(text: str) -> list[Row]:
    rows: list[Row] = []
    remaining = ""
    for number, line in enumerate(text.splitlines(), 1):
        content = re.sub(r"(?<!\\)%.*", "", line)
        if opening := _OPENING.search(content):
            content = content[opening.end() :].lstrip()
            while content.startswith(("{", "[")):
                content = _after_argument(content)
        elif _ASIDE.match(content):
            continue
        remaining += " " + content
        *complete, remaining = _split(remaining, "\\\\")
        for row in complete:
            cells = _split(_RULES.sub("", re.sub(r"^\s*(?:\*|\[[^]]*\])", "", row)), "&")
            if len(cells) > 1:
                rows.append((number, _spanned(cells)))
    return rows


def _after_argument(text: str) -> str:
    """The text after an argument in braces or brackets."""
    close = {"{": "}", "[": "]"}[text[0]]
    depth = 0
    for at, character in enumerate(text):
        depth += (character == text[0]) - (character == close)
        if not depth:
            return text[at + 1 :].lstrip()
    return ""


def _split(text: str, separator: str) -> list[str]:
    r"""Parts of LaTeX between separators that stand outside of braces."""
    parts, depth, begin, at = [], 0, 0, 0
    while at < len(text):
        if not depth and text.startswith(separator, at):
            parts.append(text[begin:at])
            at = begin = at + len(separator)
            continue
        if text[at] == "\\":
            at += 1
        else:
            depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return [*parts, text[begin:]]


def _spanned(cells: list[str]) -> tuple[str, ...]:
    """Cells with empty ones after each that spans several columns."""
    row: list[str] = []
    for cell in cells:
        span = _SPAN.match(cell)
        row += [cell, *[""] * (int(span[1]) - 1 if span else 0)]
    return tuple(row)
