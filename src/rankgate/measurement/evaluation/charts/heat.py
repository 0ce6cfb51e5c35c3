"""Heat map of values: a column for each query, a row for each system."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.core.present.charts.heat import fine_heat_map
from rankgate.core.present.charts.parts import concat_panels, panel_title
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.charts.style import SHARES
from rankgate.core.present.charts.words import shorten_name, shorten_names
from rankgate.core.present.forms.as_text import fit_table, table_width
from rankgate.core.present.forms.paragraphs import wrap_line
from rankgate.core.present.grid import Grid, make_printable
from rankgate.core.present.numbers import format_decimal
from rankgate.measurement.evaluation.charts.scored import query_count

if TYPE_CHECKING:
    from rankgate.measurement.evaluation.scores import Scores

Values = Mapping[str, Mapping[str, Mapping[str, float]]]
"""Values by metric, system and query."""

_MOST_QUERIES = 680  # queries that are drawn, a point wide each
_NAME_LENGTH = 18  # letters of a query's name
_TEXT_ROWS = 20  # queries of the text


def draw(result: Scores) -> Picture:
    """A panel for each metric: the hardest query first, the best system on top.

    Raises:
        UsageError: no query has a value.
    """
    return heat_map(_values(result), result.lower, query_count(result), result.convention)


def heat_map(
    values: Values, lower: Collection[str], query_count: str, convention: Mapping[str, Any]
) -> Picture:
    """A panel for each metric of values by metric, system and query.

    Args:
        values: the values.
        lower: the metrics that are better when lower.
        query_count: how many queries, in words.
        convention: name and hash.

    Raises:
        UsageError: no query has a value.
    """
    rows = [row for metric in values for row in _sorted_cells(values[metric], metric, lower)]
    if not rows:
        raise UsageError("no query has a value to draw.", code="nothing-to-draw")
    parts = {metric: [row for row in rows if row["metric"] == metric] for metric in values}
    panels = [_panel(metric_rows, metric) for metric, metric_rows in parts.items() if metric_rows]
    systems = list(dict.fromkeys(row["row"] for row in rows))
    longest = max(len({row["column"] for row in metric_rows}) for metric_rows in parts.values())
    return Picture(
        "heat",
        f"Values of {f'{len(systems)} systems' if systems[1:] else shorten_name(systems[0])} by "
        "query",
        "A column for each query, the lowest mean of all systems on the left; a row for each "
        "system, the best mean on top. Empty: no value."
        + (f" {_MOST_QUERIES} of the queries are drawn." if longest > _MOST_QUERIES else ""),
        query_count,
        convention,
        tuple(rows),
        concat_panels(panels, 1),
        fluid=False,
    )


def _values(result: Scores) -> Values:
    return {
        metric: {
            run.run: {
                query: value for query, value in run.per_query(metric).items() if value is not None
            }
            for run in result.runs
        }
        for metric in result.metrics
    }


def _sorted_cells(
    values: Mapping[str, Mapping[str, float]], metric: str, lower: Collection[str]
) -> list[dict[str, Any]]:
    """A row for each system and query, in the order of the picture."""
    labels = dict(zip(values, shorten_names([*values]), strict=True))
    sign = -1 if metric in lower else 1
    systems = sorted(
        (name for name in values if values[name]),
        key=lambda name: -sign * sum(values[name].values()) / len(values[name]),
    )
    by_query: dict[str, list[float]] = {}
    for name in systems:
        for query, value in values[name].items():
            by_query.setdefault(query, []).append(value)
    queries = sorted(
        by_query, key=lambda query: (sign * sum(by_query[query]) / len(by_query[query]), query)
    )
    return [
        {"metric": metric, "row": labels[name], "column": query, "value": values[name].get(query)}
        for name in systems
        for query in queries
    ]


def _panel(rows: list[dict[str, Any]], metric: str) -> Any:
    queries = list(dict.fromkeys(row["column"] for row in rows))
    last = len(queries) - 1
    drawn_queries = (
        queries
        if last < _MOST_QUERIES
        else [queries[i * last // (_MOST_QUERIES - 1)] for i in range(_MOST_QUERIES)]
    )
    labels = dict(zip(drawn_queries, shorten_names(drawn_queries, _NAME_LENGTH), strict=True))
    cells = [row | {"column": labels[row["column"]]} for row in rows if row["column"] in labels]
    values = [row["value"] for row in rows if row["value"] is not None]
    low, high = min(0.0, *values), max(values)
    domain = (low, 1.0 if 0 < high <= 1 else high or 1.0)  # shares end at 1
    chart = fine_heat_map(
        cells, domain, SHARES, across=f"{len(queries):,} queries, the hardest first"
    )
    return chart.properties(**panel_title(metric))


def text(result: Scores, width: int) -> str:
    """The queries on which systems differ most, with each system's value."""
    values = _values(result)
    parts = [
        _text(_sorted_cells(values[metric], metric, result.lower), metric, width)
        for metric in result.metrics
    ]
    return "\n".join(parts)


def _text(rows: list[dict[str, Any]], metric: str, width: int) -> str:
    systems = list(dict.fromkeys(row["row"] for row in rows))
    values: dict[str, dict[str, float]] = {}
    for row in rows:
        if row["value"] is not None:
            values.setdefault(row["column"], {})[row["row"]] = row["value"]
    value_range = {
        query: max(by_system.values()) - min(by_system.values())
        for query, by_system in values.items()
    }
    first_queries = sorted(value_range, key=lambda query: (-value_range[query], query))[:_TEXT_ROWS]
    grid = Grid(
        ("query", "spread", *map(make_printable, systems)),
        tuple(
            (
                make_printable(query),
                format_decimal(value_range[query]),
                *(format_decimal(values[query].get(name)) for name in systems),
            )
            for query in first_queries
        ),
        keys=2,
    )
    legend = ""
    if table_width(grid) > width:
        numbers = [f"({i})" for i in range(1, len(systems) + 1)]
        grid = replace(grid, head=("query", "spread", *numbers))
        names = ", ".join(map(" ".join, zip(numbers, map(make_printable, systems), strict=True)))
        legend = "\n".join(["", *wrap_line(names, width), ""])
    count = (
        f"{len(first_queries)} of {len(value_range):,}"
        if len(first_queries) < len(value_range)
        else f"{len(value_range)}"
    )
    title = f"{metric}: {count} queries, those on which systems differ most first"
    return f"{title}\n\n{fit_table(grid, width)}\n{legend}"
