"""Audits of published tables: true tables called impossible, and planted impossible numbers.

Tables of 2 to 5 systems and 4 metrics over 2 to 6,980 queries. Each is printed in a random style:
CSV, Markdown or LaTeX; decimal points or commas; separators of thousands; fractions, percentages
without a sign, with one in each cell or in the head; the number of queries in a column, in a row,
in heads, in cells, or as an option; bold type, colours, superscripts, footnotes, ±; rows of changes
as +2.7 %. Of each true table a second one has one number that no such mean rounds to.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import rankgate

TABLES = 10_000
FORMS = ("csv", "markdown", "latex")
METRICS = ("P@10", "P@5", "RR@10", "Success@5")
_SMALL, _ALL = (20, 43, 50, 54, 97, 200), (2, 5, 20, 43, 50, 54, 97, 200, 450, 1000, 1837, 6980)
_STEPS = {"P@10": 10, "P@5": 5, "Success@5": 1}
_HEADS = ("n", "#queries", "# Topics", "Queries", "No. of queries", "number of topics")
_UNITS = ("fraction", "fraction", "percent", "signs", "head")
_QUERIES = ("option", "column", "row", "heads", "cells")


@dataclass(frozen=True)
class Cell:
    """Audits of the tables of one form.

    Attributes:
        form: csv, markdown or latex.
        tables: true tables, and as many with a planted number.
        false_impossible: true tables of which a number is called impossible.
        planted: planted numbers that are called impossible.
        numbers: printed means of the true tables.
        checked: those that are found possible.
        unread: those that are reported as not read.
        misread: those read with other bounds than the mean has, or with another number of queries.
    """

    form: str
    tables: int
    false_impossible: int
    planted: int
    numbers: int
    checked: int
    unread: int
    misread: int

    @property
    def holds(self) -> bool:
        """True if no true table is impossible, and every planted number is."""
        return not self.false_impossible and self.planted == self.tables


def run(tables: int = TABLES, seed: int = 43) -> list[Cell]:
    """Audit true tables and tables with a planted number in every form."""
    rng = np.random.default_rng(seed)
    counts: dict[str, Counter[str]] = {form: Counter() for form in FORMS}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(tables):
            form = FORMS[number % len(FORMS)]
            counts[form].update(_audited(rng, form, Path(folder) / "table"))
    return [
        Cell(
            form,
            *(
                counts[form][name]
                for name in (
                    "tables",
                    "false_impossible",
                    "planted",
                    "numbers",
                    "checked",
                    "unread",
                    "misread",
                )
            ),
        )
        for form in FORMS
    ]


def section(cells: Sequence[Any]) -> str:
    """Give the part of the page: a row for each form."""
    from tables import percent, table

    rows = [
        (
            c.form,
            f"{c.tables:,}",
            str(c.false_impossible),
            f"{c.planted:,}",
            percent(c.checked / c.numbers),
            percent(c.unread / c.numbers),
            str(c.misread),
        )
        for c in cells
    ]
    heads = (
        "form",
        "true tables",
        "called impossible",
        "planted numbers found",
        "numbers checked",
        "numbers not read",
        "numbers misread",
    )
    text = (
        "True tables in mixed styles of print (separators of thousands, decimal commas, percent signs, rows "
        "of changes, `n=50`, LaTeX and HTML markup, ±, footnotes), and for each a copy with one number that "
        "no mean over its queries rounds to. A number that can be read in two ways is reported as not read, "
        "and is not checked."
    )
    return f"## Audits of published tables\n\n{text}\n\n{table(heads, rows)}"


@dataclass(frozen=True)
class _Style:
    form: str
    comma: bool
    units: str
    queries: str
    places: int
    thousands: str
    head: str


def _audited(rng: np.random.Generator, form: str, path: Path) -> Counter[str]:
    """The counts of one true table and of its copy with a planted number."""
    n = int(rng.choice(_SMALL if rng.random() < 0.5 else _ALL))
    means = _means(rng, n, int(rng.integers(2, 6)))
    style = _style(rng, form, means)
    state = int(rng.integers(2**32))
    path.write_text(_printed(np.random.default_rng(state), style, means, n), encoding="utf-8")
    option = n if style.queries == "option" else None
    result = rankgate.audit(path, queries=option)
    counts = Counter(tables=1, numbers=len(means) * len(METRICS))
    counts["false_impossible"] = int((result.cells["status"] == "impossible").any())
    for row in result.cells.iter_rows(named=True):
        if not row["system"].startswith("System"):
            continue
        truth = means[int(row["system"].split()[1])][row["metric"]]
        counts["checked"] += row["status"] == "possible"
        counts["unread"] += row["status"] == "unread"
        if row["low"] is not None:
            right = row["low"] - 1e-9 <= truth <= row["high"] + 1e-9 and row["n"] == n
            width = 10.0 ** -(style.places + 2 * (style.units != "fraction"))
            counts["misread"] += not (right and abs(row["high"] - row["low"] - width) < 1e-9)
    n = int(rng.choice(_SMALL))
    means = _means(rng, n, int(rng.integers(2, 6)))
    system, metric = int(rng.integers(len(means))), str(rng.choice(list(_STEPS)))
    size = n * _STEPS[metric]
    means[system][metric] = (int(rng.integers(size // 10, size)) + 0.5) / size
    style = _style(rng, form, means, least=4)
    path.write_text(_printed(np.random.default_rng(state), style, means, n), encoding="utf-8")
    cells = rankgate.audit(path, queries=n if style.queries == "option" else None).cells
    wrong = cells.filter(status="impossible").select("system", "metric").rows()
    counts["planted"] = int(wrong == [(f"System {system}", metric)])
    return counts


def _means(rng: np.random.Generator, n: int, systems: int) -> list[dict[str, float]]:
    """By metric the exact mean of n queries, of each system."""
    skill = rng.uniform(0.003, 0.95)
    means = []
    for _ in range(systems):
        ranks = rng.integers(1, 11, n)
        first = np.where(rng.random(n) < skill, 1 / ranks, 0.0)
        row = {name: rng.binomial(n * step, skill) / (n * step) for name, step in _STEPS.items()}
        means.append({name: {**row, "RR@10": float(first.mean())}[name] for name in METRICS})
    return means


def _style(rng: np.random.Generator, form: str, means: list[dict[str, float]], least: int = 2) -> _Style:
    comma = bool(rng.random() < 0.3)
    units = str(rng.choice(_UNITS))
    if units == "percent" and max(max(row.values()) for row in means) <= 0.02:
        units = "signs"  # numbers of 1.2 without a sign would not show that they are percentages
    places = int(rng.integers(least, 6))
    separators = [".", "", " ", "\u2009", "'"] if comma else [",", ",", "", " ", "\u202f", "'"]
    if form == "latex":
        separators += [r"\,", "." if comma else "{,}"]
    if units != "fraction":
        places = max(1, places - 2)
    return _Style(
        form,
        comma,
        units,
        str(rng.choice(_QUERIES)),
        places,
        str(rng.choice(separators)),
        str(rng.choice(_HEADS)),
    )


def _printed(rng: np.random.Generator, style: _Style, means: list[dict[str, float]], n: int) -> str:
    """The text of a table."""
    count = f"{n:,}".replace(",", style.thousands)
    heads = ["System", *(name + (" (%)" if style.units == "head" else "") for name in METRICS)]
    if style.queries == "heads":
        heads[1:] = [f"{heading} (n={n})" for heading in heads[1:]]
    rows = [
        [f"System {number}", *(_cell(rng, style, row[name], n) for name in METRICS)]
        for number, row in enumerate(means)
    ]
    if rng.random() < 0.3:
        signs = rng.choice(["+", "-", "−"], len(METRICS))
        signs[0] = "+"
        changes = [_decimal(style, f"{rng.uniform(0, 40):.1f}") for _ in METRICS]
        unit = r" \%" if style.form == "latex" else " %"
        rows.append(
            [
                str(rng.choice(["best vs. BM25", "improvement", "Δ"])),
                *(sign + change + unit for sign, change in zip(signs, changes, strict=True)),
            ]
        )
    if style.queries == "row":
        rows.insert(int(rng.integers(len(rows) + 1)), [str(rng.choice(_HEADS)), *[count] * len(METRICS)])
    elif style.queries == "column":
        position = int(rng.integers(1, len(heads) + 1))
        prefix = "n=" if rng.random() < 0.3 else ""
        heads.insert(position, style.head)
        for row in rows:
            row.insert(position, prefix + count)
    return _table(style.form, heads, rows, comma=style.comma)


def _table(form: str, heads: list[str], rows: list[list[str]], *, comma: bool) -> str:
    if form == "csv":
        separator = ";" if comma else ","
        return "\n".join(
            separator.join(f'"{cell}"' if separator in cell else cell for cell in row)
            for row in (heads, *rows)
        )
    if form == "markdown":
        return "\n".join(f"| {' | '.join(row)} |" for row in (heads, ["---"] * len(heads), *rows))
    lines = [
        " & ".join(cell.replace("#", r"\#") for cell in [row[0]]) + " & " + " & ".join(row[1:]) + r" \\"
        for row in rows
    ]
    top = " & ".join(heading.replace("#", r"\#").replace("%", r"\%") for heading in heads) + r" \\ \midrule"
    return "\n".join(
        [
            r"\begin{tabular}{l@{}" + "r" * len(heads) + "}",
            r"\toprule",
            top,
            *lines,
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


def _decimal(style: _Style, number: str) -> str:
    return number.replace(".", ",") if style.comma else number


def _cell(rng: np.random.Generator, style: _Style, mean: float, n: int) -> str:
    """A mean in the style of its table, with the marks of its cell."""
    value = mean * (1 if style.units == "fraction" else 100)
    number = _decimal(style, f"{value:.{style.places}f}")
    if style.units == "fraction" and number.startswith("0") and rng.random() < 0.1:
        number = number[1:]
    spread = _decimal(style, f"{rng.uniform(0, 0.1):.3f}")
    latex = style.form == "latex"
    percent = "" if style.units != "signs" else (r"\%" if latex else "%")
    if percent and rng.random() < 0.5:
        percent = (r"\," if latex else " ") + percent
    marks = ["", "", ""]
    if latex:
        marks += [
            "$^{*}$",
            r"$^{\dagger}$",
            r"\textsuperscript{ab}",
            r"$^{1,2}$",
            r"\tnote{a}",
            r"\footnotemark[1]",
            r"$\uparrow$",
            r"~$\pm$ " + spread,
            f"$_{{\\pm {spread}}}$",
            f" ({spread})",
            r"$^\ddagger$",
        ]
        templates = [
            "{}",
            "{}",
            r"\textbf{{{}}}",
            r"\underline{{{}}}",
            r"\cellcolor{{gray!20}}{}",
            r"\cellcolor[HTML]{{FFCC00}} {}",
            r"\color{{red}}{}",
            r"\textcolor{{blue}}{{{}}}",
            r"\num{{{}}}",
            r"\num[round-precision=2]{{{}}}",
            r"{{\bfseries {}}}",
            "${}$",
            r"$\mathbf{{{}}}$",
            r"\cellcolor{{red!10}}\textbf{{{}}}",
            r"\best{{{}}}",
            r"\phantom{{0}}{}",
            r"\multicolumn{{1}}{{c}}{{{}}}",
        ]
    else:
        marks += [
            "*",
            "†",
            "‡ §",
            "<sup>ab</sup>",
            "<sup>1</sup>",
            "²",
            "ᵃ",
            "[^1]",
            " a",
            "↑",
            f" ± {spread}",
            f"±{spread}",
            f" +/- {spread}",
            f" ({spread})",
            f" [{number}]" if "," not in number else "",
            "*",
        ]
        templates = [
            "{}",
            "{}",
            "**{}**",
            "__{}__",
            "_{}_",
            "<u>{}</u>",
            "<b>{}</b>",
            '<span style="color:red">{}</span>',
            "`{}`",
            "<u>**{}**</u>",
            "[{}](#note)",
        ]
    mark = str(rng.choice(marks))
    text = str(rng.choice(templates)).format(number)
    if mark and rng.random() < 0.5 and not mark.strip().startswith(("±", "~", "$_", "+")):
        text += percent + mark
    else:
        text += mark + percent
    return text + (f" (n={n})" if style.queries == "cells" else "")
