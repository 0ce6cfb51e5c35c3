"""Grids as Markdown tables."""

from __future__ import annotations

import re

from rankgate.core.present.grid import Grid, make_printable

_SIGN = re.compile(
    r"[\\|*_<`~]"
    r"|\](?=[(\[:])"  # a link, an image, a reference
    r"|&(?=#?\w+;)"  # an entity
    r"|:(?=//)|(?<=www)\."  # an address, which becomes a link
    r"|^(?:#|>|[-+](?=\s)|(?<=^)\d+[.)](?=\s))"  # a heading, a quotation, a list
    r"|^:(?=:)|(?<=#)\[|(?<=#vso)\["  # a command to a build server that shows the page
)


def markdown_table(grid: Grid) -> str:
    r"""The grid as GitHub and most others read it.

    >>> print(markdown_table(Grid(("run", "AP"), (("a|b", "0.5"),))))
    | run | AP |
    | :-- | --: |
    | a\|b | 0.5 |
    """
    grid = grid.flat
    rule = [":--" if i in grid.left else "--:" for i in range(len(grid.head))]
    lines = [grid.head, tuple(rule), *grid.rows]
    return "\n".join(f"| {' | '.join(map(escape_markdown, cells))} |" for cells in lines)


def escape_markdown(text: str) -> str:
    r"""Escape a text for one cell: links, entities, headings and formulas are not interpreted.

    >>> (escape_markdown("[a](b) &lt; $x$ ~ http://c"), escape_markdown("# a"),
    ...  escape_markdown("[0.1, 0.2]"))
    ('[a\\](b) \\&lt; &#36;x&#36; \\~ http\\://c', '\\# a', '[0.1, 0.2]')
    """
    escaped_text = _SIGN.sub(r"\\\g<0>", make_printable(text))
    return escaped_text.replace(
        "$", "&#36;"
    )  # GitHub finds formulas before it looks for backslashes
