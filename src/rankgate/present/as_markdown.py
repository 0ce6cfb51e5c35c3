"""Grids as Markdown tables."""

from __future__ import annotations

from rankgate.present.grid import Grid, printable


def table(grid: Grid) -> str:
    r"""The grid as GitHub and most others read it.

    >>> print(table(Grid(("run", "AP"), (("a|b", "0.5"),))))
    | run | AP |
    | :-- | --: |
    | a\|b | 0.5 |
    """
    grid = grid.flat
    rule = [":--" if i in grid.left else "--:" for i in range(len(grid.head))]
    lines = [grid.head, tuple(rule), *grid.rows]
    return "\n".join(f"| {' | '.join(map(escaped, words))} |" for words in lines)


def escaped(text: str) -> str:
    """A word that stays one cell, and means what it says."""
    plain = printable(text)
    for sign in "\\|*_<`":
        plain = plain.replace(sign, f"\\{sign}")
    return plain
