"""The admission of a judge: the verdict, its demands, then bias, confusion and systems."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.present import as_json, as_markdown
from rankgate.present.as_text import WIDTH, fitted
from rankgate.present.figures import interval, number, signed
from rankgate.present.grid import Grid, printable
from rankgate.present.numbers import decimal
from rankgate.present.paragraphs import beside, wrapped

if TYPE_CHECKING:
    from rankgate.judging.admission.admit import Admitted

FORMS = ("text", "json", "markdown")
"""The forms of an admission, by the name that ``--format`` takes."""

_WORDS = {"pass": "ADMITTED", "fail": "REFUSED", "inconclusive": "INCONCLUSIVE"}
_SIGNS = {"pass": "✔", "fail": "✘", "inconclusive": "?"}
_LIMIT = (
    "What holds on the pairs that both judged need not hold elsewhere: take them from the queries "
    "and the ranks that will be judged, and repeat this when judge, prompt or collection change."
)


def render(told: Admitted, form: str, width: int = WIDTH) -> str:
    """The admission in one of `FORMS`."""
    if form == "json":
        return as_json.dumped(told.to_dict())
    markdown = form == "markdown"
    heading = f"{_WORDS[told.admission.verdict]}: {_who(told)}"
    parts = [f"## {as_markdown.escaped(heading)}" if markdown else heading]
    if markdown:
        parts.append(as_markdown.table(_demands(told)))
    else:
        ends = [(_SIGNS[each.status], each.name, each.reason) for each in told.admission.demands]
        lines = [beside([sign, name], [why], [1, 20], width) for sign, name, why in ends]
        parts.append("".join(lines).rstrip())
    for title, grid in grids(told):
        table = as_markdown.table(grid) if markdown else fitted(grid, width)
        parts.append(f"{title}\n\n{table}" if markdown else f"{title}\n{table}")
    parts.append("\n".join(wrapped(_LIMIT, min(width, 100))))
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def grids(told: Admitted) -> list[tuple[str, Grid]]:
    """Agreement, bias by grade, confusion, and systems where there are runs."""
    found = told.admission
    coefficients = tuple(
        (name, number(each.value, 3), interval(each.low, each.high, 3))
        for name, each in found.agreement.coefficients.items()
    )
    tables = [
        (f"agreement over {found.pairs} pairs of {found.queries} queries",
         Grid(("coefficient", "value", "95% interval"), coefficients)),
        ("by people's grade", _by_grade(told)),
        ("people's grades (rows) and the judge's (columns)", _confusion(told)),
    ]  # fmt: skip
    if len(found.systems):
        tables.append(("systems by these pairs alone", _systems(told)))
    if found.orders:
        tables.append(("the order of systems", _orders(told)))
    return tables


def _who(told: Admitted) -> str:
    return f"{printable(told.admission.judge[0])} beside {printable(told.admission.people[0])}"


def _demands(told: Admitted) -> Grid:
    rows = tuple(
        (f"{_SIGNS[each.status]} {each.status}", each.name, each.reason)
        for each in told.admission.demands
    )
    return Grid(("status", "demand", "why"), rows, frozenset(range(3)))


def _by_grade(told: Admitted) -> Grid:
    rows = tuple(
        (f"{row['grade']:g}", str(row["pairs"]), number(row["mean"], 2), signed(row["bias"]),
         f"{row['equal']:.0%}")
        for row in told.admission.bias.grades.iter_rows(named=True)
    )  # fmt: skip
    return Grid(("people", "pairs", "judge's mean", "bias", "equal"), rows)


def _confusion(told: Admitted) -> Grid:
    cells: dict[float, dict[float, int]] = {}
    for row in told.admission.bias.confusion.iter_rows(named=True):
        cells.setdefault(row["people"], {})[row["judge"]] = row["pairs"]
    columns = sorted({grade for row in cells.values() for grade in row})
    rows = tuple(
        (f"{grade:g}", *(str(cells[grade].get(column, 0)) for column in columns))
        for grade in sorted(cells)
    )
    return Grid(("", *(f"{column:g}" for column in columns)), rows)


def _systems(told: Admitted) -> Grid:
    rows = tuple(
        (row["metric"], row["system"], decimal(row["people"]), decimal(row["judge"]),
         signed(row["delta"]))
        for row in told.admission.systems.iter_rows(named=True)
    )  # fmt: skip
    return Grid(("metric", "system", "people", "judge", "delta"), rows, frozenset({0, 1}), keys=2)


def _orders(told: Admitted) -> Grid:
    rows = tuple(
        (each.metric, number(each.tau, 3), number(each.tau_ap, 3), str(each.pairs),
         str(each.flips), str(each.lost), str(each.reversed))
        for each in told.admission.orders
    )  # fmt: skip
    head = ("metric", "tau", "tau AP", "pairs", "turned\nround", "no longer\ntold apart",
            "told apart the\nother way round")  # fmt: skip
    return Grid(head, rows)
