"""Grids as Markdown, HTML and LaTeX tables."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from unicodedata import lookup

from rankgate.core.present.document_model import Grid, make_printable
from rankgate.core.present.number_formats import DIGITS, LETTERS
from rankgate.core.present.text_tables import table_width

_SIGN = re.compile(
    r"[\\|*_<`~]"
    r"|\](?=[(\[:])"  # a link, an image, a reference
    r"|&(?=#?\w+;)"  # an entity
    r"|:(?=//)|(?<=www)\."  # an address, which becomes a link
    r"|^(?:#|>|[-+](?=\s)|(?<=^)\d+[.)](?=\s))"  # a heading, a quotation, a list
    r"|^:(?=:)|(?<=#)\[|(?<=#vso)\["  # a command to a build server that shows the page
)


def markdown_table(grid: Grid) -> str:
    r"""The grid as a Markdown table that GitHub and most other renderers read.

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
    return escaped_text.replace("$", "&#36;")  # GitHub finds formulas before it looks for backslashes


def html_table(grid: Grid) -> str:
    """The grid as a table without a style of its own, so that the notebook's style applies.

    >>> from rankgate.core.present.document_model import Grid
    >>> print(html_table(Grid(("run",), (("<b>",),))))
    <table><thead><tr><th style="text-align:left">run</th></tr></thead>
    <tbody>
    <tr><td style="text-align:left">&lt;b&gt;</td></tr>
    </tbody></table>
    """
    grid = grid.flat
    rows = "\n".join(_html_row("td", row, grid) for row in grid.rows)
    head = _html_row("th", grid.head, grid)
    return f"<table><thead>{head}</thead>\n<tbody>\n{rows}\n</tbody></table>"


def html_paragraph(text: str) -> str:
    """A paragraph of small text."""
    return f"<p><small>{escape_html(text)}</small></p>"


def escape_html(text: str) -> str:
    """Escaped text."""
    return escape(make_printable(text))


def _html_row(tag: str, texts: tuple[str, ...], grid: Grid) -> str:
    sides = ["left" if i in grid.left else "right" for i in range(len(texts))]
    cells = [
        f'<{tag} style="text-align:{side}">{escape(make_printable(text))}</{tag}>'
        for side, text in zip(sides, texts, strict=True)
    ]
    return f"<tr>{''.join(cells)}</tr>"


_MINUS = re.compile(r"(?<!\w)-(?=\d)")
_SIGNS = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    **{sign: f"${sign}$" for sign in "<>|"},  # the text font has other characters at these codes
    "`": r"\textasciigrave{}",
    "–": "--",
    "−": "$-$",
    "→": r"$\rightarrow$",
    "✔": r"$+$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "▲": r"\textsuperscript{+}",
    "▼": r"\textsuperscript{--}",
    "·": r"$\cdot$",
    "✘": r"$-$",
    "Δ": r"$\Delta$",
    "≥": r"$\geq$",
    **{
        lookup(f"GREEK SMALL LETTER {name}"): rf"$\{name.lower()}$"
        for name in ("ALPHA", "BETA", "DELTA", "EPSILON", "KAPPA", "MU", "RHO", "SIGMA", "TAU", "CHI")
    },
    "Φ": r"$\Phi$",
    "…": r"\ldots{}",
    "\ufffd": "?",  # the replacement character
    **{
        mark: rf"\textsuperscript{{{letter}}}"
        for mark, letter in zip(LETTERS + DIGITS, "abcdefghijklmnoprstuvwxyz0123456789", strict=True)
    },
}


def latex_table(grid: Grid, bold: frozenset[tuple[int, int]] = frozenset()) -> str:
    r"""A LaTeX tabular; the paper supplies the caption and the float.

    Args:
        grid: the table.
        bold: the rows and columns of cells that are bold.

    >>> print(latex_table(Grid(("run", "AP"), (("bm_25", "0.5"),))))
    \begin{tabular}{lr}
    \toprule
    run & AP \\
    \midrule
    bm\_25 & 0.5 \\
    \bottomrule
    \end{tabular}
    """
    grid = grid.flat
    columns = "".join("l" if i in grid.left else "r" for i in range(len(grid.head)))
    header = _latex_row(map(escape_latex, grid.head))
    rows = [
        _latex_row(
            rf"\textbf{{{escape_latex(cell)}}}" if (i, j) in bold else escape_latex(cell)
            for j, cell in enumerate(row)
        )
        for i, row in enumerate(grid.rows)
    ]
    is_wide = table_width(grid) > _PAGE_WIDTH
    box, end = (r"\setbox0\hbox\bgroup", r"\egroup") if is_wide else ("", "")
    return "\n".join(
        [
            *(_WIDE_START if is_wide else ()),
            rf"{box}\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            header,
            r"\midrule",
            *rows,
            r"\bottomrule",
            rf"\end{{tabular}}{end}",
            *(_WIDE_END if is_wide else ()),
        ]
    )


_PAGE_WIDTH = 60  # characters of a line of an article

_WIDE_START = (r"\begingroup", r"\ifdefined\resizebox\else\scriptsize\setlength{\tabcolsep}{3pt}\fi")
_WIDE_END = (
    r"\noindent\ifdefined\resizebox",
    r"\ifdim\wd0>\linewidth\resizebox{\linewidth}{!}{\box0}\else\box0\fi",
    r"\else\box0\fi",
    r"\endgroup",
)
"""A wide table is a box: with graphicx it becomes as narrow as the line, without it has smaller type."""


def _latex_row(escaped_cells: Iterable[str]) -> str:
    cells = " & ".join(escaped_cells)
    # otherwise the end of the row above reads [ and *, and a build server runs ::error:: in its log
    guard = "{}" if cells.startswith(("[", "*", ":")) else ""
    return rf"{guard}{cells} \\"


def latex_comment(text: str) -> str:
    """A text as a LaTeX comment; significance signs are those of the tables."""
    comment = make_printable(text).replace("▲", "+").replace("▼", "--").replace("##", "# #")
    return f"% {comment}" if text else ""


def escape_latex(text: str) -> str:
    """Escape special characters, and print the minus of a number as a minus."""
    return "".join(_SIGNS.get(sign, sign) for sign in _MINUS.sub("−", make_printable(text)))
