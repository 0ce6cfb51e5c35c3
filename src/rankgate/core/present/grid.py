"""A table of texts, before it becomes text, Markdown or LaTeX."""

from __future__ import annotations

from dataclasses import replace

from rankgate.core.frozen import dataclass

SOFT = "\N{SOFT HYPHEN}"
"""Placed before a newline in a head where a word is broken that has no hyphen."""


@dataclass(frozen=True)
class Grid:
    """Columns with a head, and rows.

    Attributes:
        head: the name of each column; a newline is where a narrow medium may break it.
        rows: one word a column.
        left: the columns that hold words, which are flush left; numbers are right.
        keys: how many first columns say what a row is of; they stay with every piece.
    """

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: frozenset[int] = frozenset({0})
    keys: int = 1

    @classmethod
    def of(cls, columns: dict[str, list[str]], left: tuple[int, ...] = (0,)) -> Grid:
        """A grid from its columns, in their order."""
        return cls(tuple(columns), tuple(zip(*columns.values(), strict=True)), frozenset(left))

    @property
    def flat(self) -> Grid:
        """The same grid with every column name in one line."""
        heads = (
            name.replace(f"{SOFT}\n", "").replace("-\n", "-").replace("/\n", "/").replace("\n", " ")
            for name in self.head
        )
        return replace(self, head=tuple(heads))

    @property
    def turned(self) -> Grid:
        """Rows as columns; the first column gives the heads."""
        corner_name, *names = self.flat.head
        first, *other_columns = zip(*self.rows, strict=True)
        rows = tuple((name, *cells) for name, cells in zip(names, other_columns, strict=True))
        return Grid((corner_name, *first), rows)

    def columns(self, begin: int, end: int) -> Grid:
        """The columns that are keys, and some of the others."""
        column_indices = [*range(self.keys), *range(max(begin, self.keys), end)]
        return replace(
            self,
            head=tuple(self.head[i] for i in column_indices),
            rows=tuple(tuple(row[i] for i in column_indices) for row in self.rows),
            left=frozenset(position for position, i in enumerate(column_indices) if i in self.left),
        )


def make_printable(text: str) -> str:
    r"""A word in one line, with nothing in it that moves a cursor.

    >>> make_printable("a\n\x1b[1mb")
    'a �[1mb'
    """
    line = " ".join(text.split())
    return line if line.isprintable() else "".join(c if c.isprintable() else "�" for c in line)
