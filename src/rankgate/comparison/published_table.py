"""Read a published table of systems and metrics: CSV, Markdown or LaTeX."""

from __future__ import annotations

import csv
import re
from pathlib import Path

from rankgate.errors import InputError
from rankgate.frozen import dataclass

_NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)")
_COMMANDS = re.compile(
    r"\\(?:textbf|textit|textsc|emph|underline|mathbf|bf|it|textsuperscript|text|rm|multicolumn"
    r"\{\d+\}\{[^}]*\})\b"
)
_RULES = re.compile(
    r"\\(?:hline|toprule|midrule|bottomrule|cline\{[^}]*\}|cmidrule(?:\([^)]*\))?\{[^}]*\})"
)
_MARKS = re.compile(r"\$?\^\{?[^}\s$]*\}?\$?|[*†‡§¶↑↓$]|\\(?:dagger|ddagger|ast|uparrow|downarrow)")
_RULED = re.compile(r"[\s|:\-+]+")


@dataclass(frozen=True)
class Printed:
    """A number as a table prints it.

    Attributes:
        value: the number.
        places: digits after its point.
        text: the cell.
    """

    value: float
    places: int
    text: str


@dataclass(frozen=True)
class PublishedTable:
    """A table as it was printed.

    Attributes:
        name: where it is from.
        head: the name of each column.
        rows: the cells of each system, without marks.
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
    (_, head), *rows = found
    for line, cells in rows:
        if len(cells) > len(head):
            problem = f"{len(cells)} cells under {len(head)} heads; give each column a head."
            raise InputError(problem, source=str(path), line=line, code="too-many-cells")
    wide = [(line, (*cells, *[""] * (len(head) - len(cells)))) for line, cells in rows]
    return PublishedTable(place.name, head, tuple(cells for _, cells in wide),
                          tuple(line for line, _ in wide))  # fmt: skip


def printed(cell: str) -> Printed | None:
    """The number that a cell begins with; None where it has none."""
    found = _NUMBER.match(cell.strip())
    if not found:
        return None
    text = found[0]
    return Printed(float(text), len(text.partition(".")[2]), text)


def _csv(text: str) -> list[tuple[int, tuple[str, ...]]]:
    first = text.lstrip().partition("\n")[0]
    separator = max(",;\t", key=first.count)
    reader = csv.reader(text.splitlines(), delimiter=separator)
    return [(reader.line_num, _plain(row)) for row in reader if any(map(str.strip, row))]


def _markdown(text: str) -> list[tuple[int, tuple[str, ...]]]:
    found: list[tuple[int, tuple[str, ...]]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.lstrip().startswith("|"):
            if found:
                break
            continue
        if not _RULED.fullmatch(line):
            found.append((number, _plain(line.strip().strip("|").split("|"))))
    return found


def _latex(text: str) -> list[tuple[int, tuple[str, ...]]]:
    found, kept = [], ""
    for number, line in enumerate(text.splitlines(), 1):
        content = re.sub(r"(?<!\\)%.*", "", line)
        if re.match(r"\s*\\(?:begin|end|caption|label|centering)\b", content):
            continue
        kept += " " + content
        *rows, kept = kept.split("\\\\")
        for row in rows:
            cells = _RULES.sub("", row)
            if "&" in cells:
                found.append((number, _plain(re.split(r"(?<!\\)&", cells))))
    return found


def _plain(cells: list[str]) -> tuple[str, ...]:
    """Cells without the marks of their format and of significance."""
    return tuple(_cell(each) for each in cells)


def _cell(text: str) -> str:
    text = _COMMANDS.sub("", text.replace("\\%", "%").replace("\\_", "_").replace("\\pm", "±"))
    return _MARKS.sub("", text).replace("{", "").replace("}", "").strip()
