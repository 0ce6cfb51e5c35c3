"""Grids as Markdown tables."""

from __future__ import annotations

import re

from rankgate.core.present.grid import Grid, printable

_SIGN = re.compile(
    r"[\\|*_<`~]"
    r"|\](?=[(\[:])"  # a link, an image, a reference
    r"|&(?=#?\w+;)"  # an entity
    r"|:(?=//)|(?<=www)\."  # an address, which becomes a link
    r"|^(?:#|>|[-+](?=\s)|(?<=^)\d+[.)](?=\s))"  # a heading, a quotation, a list
    r"|^:(?=:)|(?<=#)\[|(?<=#vso)\["  # a command to a build server that shows the page
)


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
    r"""A word that stays one cell, and means what it says: no link, entity, heading or formula.

    >>> escaped("[a](b) &lt; $x$ ~ http://c"), escaped("# a"), escaped("[0.1, 0.2]")
    ('[a\\](b) \\&lt; &#36;x&#36; \\~ http\\://c', '\\# a', '[0.1, 0.2]')
    """
    plain = _SIGN.sub(r"\\\g<0>", printable(text))
    return plain.replace("$", "&#36;")  # GitHub finds formulas before it looks for backslashes
