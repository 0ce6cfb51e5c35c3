"""Grids as LaTeX tables, for the package booktabs."""

from __future__ import annotations

import re

from rankgate.core.present.grid import Grid, printable
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
    "ρ": r"$\rho$",
    "Φ": r"$\Phi$",
    "…": r"\ldots{}",
    "\N{REPLACEMENT CHARACTER}": "?",
    **{
        mark: rf"\textsuperscript{{{plain}}}"
        for mark, plain in zip(LETTERS + DIGITS, "abcdefghijklmnoprstuvwxyz0123456789", strict=True)
    },
}


def table(grid: Grid) -> str:
    r"""A tabular; the caption and the float are the paper's.

    >>> print(table(Grid(("run", "AP"), (("bm_25", "0.5"),))))
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
    head, *rows = (_row(words) for words in (grid.head, *grid.rows))
    return "\n".join(
        [
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            head,
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


def _row(words: tuple[str, ...]) -> str:
    cells = " & ".join(map(escaped, words))
    # the end of the row above would take [ and *, a build server runs ::error:: in its log
    kept = "{}" if cells.startswith(("[", "*", ":")) else ""
    return rf"{kept}{cells} \\"


def remark(text: str) -> str:
    """Words as a comment; signs of tables are those that the tables have."""
    words = printable(text).replace("▲", "+").replace("▼", "--").replace("##", "# #")
    return f"% {words}" if text else ""


def escaped(text: str) -> str:
    """A word with its special signs printed as they are, and the minus of a number as one."""
    return "".join(_SIGNS.get(sign, sign) for sign in _MINUS.sub("−", printable(text)))
