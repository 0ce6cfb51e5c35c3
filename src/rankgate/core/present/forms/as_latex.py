"""Grids as LaTeX tables, for the package booktabs."""

from __future__ import annotations

import re
from unicodedata import lookup

from rankgate.core.present.grid import Grid, make_printable
from rankgate.core.present.marks import DIGITS, LETTERS

_MINUS = re.compile(r"(?<!\w)-(?=\d)")
_SIGNS = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    **{sign: f"${sign}$" for sign in "<>|"},  # the font of text has other signs in their places
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
        for name in (
            "ALPHA",
            "BETA",
            "DELTA",
            "EPSILON",
            "KAPPA",
            "MU",
            "RHO",
            "SIGMA",
            "TAU",
            "CHI",
        )
    },
    "Φ": r"$\Phi$",
    "…": r"\ldots{}",
    "\N{REPLACEMENT CHARACTER}": "?",
    **{
        mark: rf"\textsuperscript{{{letter}}}"
        for mark, letter in zip(
            LETTERS + DIGITS, "abcdefghijklmnoprstuvwxyz0123456789", strict=True
        )
    },
}


def latex_table(grid: Grid) -> str:
    r"""A tabular; the caption and the float are the paper's.

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
    header, *rows = (_latex_row(row) for row in (grid.head, *grid.rows))
    return "\n".join(
        [
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            header,
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


def _latex_row(row: tuple[str, ...]) -> str:
    cells = " & ".join(map(escape_latex, row))
    # the end of the row above would take [ and *, a build server runs ::error:: in its log
    guard = "{}" if cells.startswith(("[", "*", ":")) else ""
    return rf"{guard}{cells} \\"


def latex_comment(text: str) -> str:
    """A text as a LaTeX comment; significance signs are those of the tables."""
    comment = make_printable(text).replace("▲", "+").replace("▼", "--").replace("##", "# #")
    return f"% {comment}" if text else ""


def escape_latex(text: str) -> str:
    """Escape special characters, and print the minus of a number as a minus."""
    return "".join(_SIGNS.get(sign, sign) for sign in _MINUS.sub("−", make_printable(text)))
