"""Expressions in the words of SQL over the table of events, as columns of Ibis.

Ibis writes them in the dialect of each database. An aggregate counts the rows of a condition.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rankgate.online.events.event_table import COLUMNS, KINDS
from rankgate.online.indicators.search_tables import attribute_text, load_ibis
from rankgate.online.log_database import exact_sum

if TYPE_CHECKING:
    from sqlglot import exp

_OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "EQ": operator.eq,
    "NEQ": operator.ne,
    "GT": operator.gt,
    "GTE": operator.ge,
    "LT": operator.lt,
    "LTE": operator.le,
    "And": operator.and_,
    "Or": operator.or_,
    "Add": operator.add,
    "Sub": operator.sub,
    "Mul": operator.mul,
    "Div": operator.truediv,
}


def parse_sql(text: str) -> exp.Expression:
    """The tree of an expression.

    Raises:
        ValueError: it cannot be read.
    """
    import sqlglot

    try:
        return sqlglot.parse_one(text, dialect="duckdb")
    except sqlglot.errors.SqlglotError as error:
        reason = re.sub(r"\x1b\[\d+m", "", str(error)).splitlines()[0]
        raise ValueError(reason.rstrip(". ")) from None


def needed_kinds(condition: exp.Expression) -> tuple[str, ...]:
    """The kinds of events, one of which a condition needs; none if other events meet it too."""
    from sqlglot import exp

    if condition.find(exp.Or, exp.Not, exp.NEQ):
        return ()
    tests = [node for node in condition.find_all(exp.EQ, exp.In) if node.this.name == "kind"]
    return tuple(literal.name for node in tests for literal in node.find_all(exp.Literal))


def make_column(
    tree: exp.Expression,
    rows: Any,  # noqa: ANN401 - a table of Ibis
    condition: Any = None,  # noqa: ANN401 - a column of Ibis
    dimensions: Sequence[str] = (),
) -> Any:  # noqa: ANN401 - a column of Ibis
    """The column of an expression.

    Args:
        tree: the expression.
        rows: the table of events.
        condition: the condition of rows that aggregates count; all by default.
        dimensions: the names of attributes that are columns too.

    Raises:
        ValueError: an unknown column or kind of event, or a part of SQL that is not supported.
    """
    lib = load_ibis()

    def column(node: exp.Expression) -> Any:  # noqa: ANN401
        if node.name in dimensions:
            return attribute_text(rows, node.name)
        if node.name not in COLUMNS:
            names = ", ".join((*COLUMNS, *dimensions))
            raise ValueError(f"there is no column {node.name!r}; there are {names}")
        return rows[node.name]

    def compare(node: exp.Expression) -> Any:  # noqa: ANN401
        left, right = convert(node.this), convert(node.expression)
        check_kinds(node.this, [node.expression])
        for first, second in ((left, right), (right, left)):  # an attribute is text
            if first.type().is_string() and second.type().is_numeric():
                left, right = left.try_cast("float64"), right.try_cast("float64")
                break
        return _OPERATORS[type(node).__name__](left, right)

    def is_in(node: exp.Expression) -> Any:  # noqa: ANN401
        check_kinds(node.this, node.expressions)
        return convert(node.this).isin([convert(element) for element in node.expressions])

    def check_kinds(tested: exp.Expression, values: Sequence[exp.Expression]) -> None:
        unknown = [value.name for value in values if value.key == "literal" and value.name not in KINDS]
        if tested.key == "column" and tested.name == "kind" and unknown:
            raise ValueError(f"no kind of event is called {unknown[0]!r}; there are {', '.join(KINDS)}")

    def count(node: exp.Expression) -> Any:  # noqa: ANN401
        counted = node.this
        if counted is None or counted.key == "star":
            return rows.count(where=condition)
        if counted.key == "distinct":
            return convert(counted.expressions[0]).nunique(where=condition)
        return convert(counted).count(where=condition)

    def total(node: exp.Expression) -> Any:  # noqa: ANN401
        value = convert(node.this)
        if value.type().is_boolean():
            value = value.cast("int64")
        return exact_sum(value, condition).fill_null(0)

    def mean(node: exp.Expression) -> Any:  # noqa: ANN401
        value = convert(node.this).cast("float64")
        return exact_sum(value, condition) / value.count(where=condition).nullif(0)

    def case(node: exp.Expression) -> Any:  # noqa: ANN401
        branches = [(convert(branch.this), convert(branch.args["true"])) for branch in node.args["ifs"]]
        default = node.args.get("default")
        return lib.cases(*branches, else_=None if default is None else convert(default))

    def literal(node: exp.Expression) -> Any:  # noqa: ANN401
        if node.args.get("is_string"):
            return lib.literal(node.name)
        return lib.literal(float(node.name) if re.search(r"[.eE]", node.name) else int(node.name))

    makers: dict[str, Callable[[exp.Expression], Any]] = {
        **dict.fromkeys(_OPERATORS, compare),
        "Column": column,
        "Literal": literal,
        "Boolean": lambda node: lib.literal(bool(node.this)),
        "Paren": lambda node: convert(node.this),
        "Not": lambda node: ~convert(node.this),
        "Neg": lambda node: -convert(node.this),
        "In": is_in,
        "Is": lambda node: convert(node.this).isnull(),
        "Between": lambda node: convert(node.this).between(
            convert(node.args["low"]), convert(node.args["high"])
        ),
        "Like": lambda node: convert(node.this).like(node.expression.name),
        "Lower": lambda node: convert(node.this).lower(),
        "Coalesce": lambda node: lib.coalesce(convert(node.this), *map(convert, node.expressions)),
        "Nullif": lambda node: convert(node.this).nullif(convert(node.expression)),
        "Case": case,
        "Count": count,
        "Sum": total,
        "Avg": mean,
        "Min": lambda node: convert(node.this).min(where=condition),
        "Max": lambda node: convert(node.this).max(where=condition),
    }

    def convert(node: exp.Expression) -> Any:  # noqa: ANN401
        make = makers.get(type(node).__name__)
        if make is None:
            raise ValueError(f"{node.sql()} is not supported")
        return make(node)

    return convert(tree)
