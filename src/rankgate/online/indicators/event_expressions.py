"""Expressions in the words of SQL over the table of events, as columns of Ibis.

Ibis writes them in the dialect of each database. An aggregate counts the rows of a condition.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from rankgate.online.events.event_table import COLUMNS, KINDS
from rankgate.online.events.warehouse_events import IbisColumn
from rankgate.online.indicators.search_tables import attribute_text, load_ibis
from rankgate.online.log_database import exact_sum

if TYPE_CHECKING:
    from sqlglot import exp

_OPERATORS: Mapping[str, Callable[[IbisColumn, IbisColumn], IbisColumn]] = {
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
_FUNCTIONS: Mapping[str, Callable[..., IbisColumn]] = {
    "In": lambda value, *choices: value.isin(choices),
    "Between": lambda value, low, high: value.between(low, high),
    "Like": lambda text, pattern: text.like(pattern),
    "Lower": lambda text: text.lower(),
    "Nullif": lambda value, null_value: value.nullif(null_value),
    "Coalesce": lambda *values: load_ibis().coalesce(*values),
    "Not": operator.invert,
    "Neg": operator.neg,
    "Paren": lambda value: value,
}
"""Operations of SQL on the columns of their parts."""


def parse_sql(text: str) -> exp.Expression:
    """The tree of an expression.

    Raises:
        ValueError: it cannot be read.
    """
    import sqlglot

    try:
        tree: exp.Expression = sqlglot.parse_one(text, dialect="duckdb")  # type: ignore[assignment]
    except sqlglot.errors.SqlglotError as error:
        reason = re.sub(r"\x1b\[\d+m", "", str(error)).splitlines()[0]
        raise ValueError(reason.rstrip(". ")) from None
    return tree


def needed_kinds(condition: exp.Expression) -> tuple[str, ...]:
    """The kinds of events, one of which a condition needs; none if other events meet it too."""
    from sqlglot import exp

    if condition.find(exp.Or, exp.Not, exp.NEQ):
        return ()
    tests = [node for node in condition.find_all(exp.EQ, exp.In) if node.this.name == "kind"]
    return tuple(literal.name for node in tests for literal in node.find_all(exp.Literal))


def make_column(
    tree: exp.Expression, rows: IbisColumn, condition: IbisColumn = None, dimensions: Sequence[str] = ()
) -> IbisColumn:
    """The column of an expression.

    Args:
        tree: the expression.
        rows: the table of events.
        condition: the condition of rows that aggregates count; all by default.
        dimensions: the names of attributes that are columns too.

    Raises:
        ValueError: an unknown column or kind of event, or a part of SQL that is not supported.
    """
    return _Maker(rows, condition, dimensions).make(tree)


class _Maker:
    """Columns of expressions; a method for each operation of SQL that is more than a function."""

    def __init__(self, rows: IbisColumn, condition: IbisColumn, dimensions: Sequence[str]) -> None:
        self._rows, self._condition, self._dimensions = rows, condition, dimensions

    def make(self, node: exp.Expression) -> IbisColumn:
        """The column of an expression.

        Raises:
            ValueError: it is not supported.
        """
        name = type(node).__name__
        if method := getattr(self, f"_{name.lower()}", None):
            return method(node)
        if name not in _OPERATORS and name not in _FUNCTIONS:
            raise ValueError(f"{node.sql()} is not supported")
        parts = [*node.iter_expressions()]
        columns = [self.make(column) for column in parts]
        if name in _OPERATORS or name == "In":
            _check_kinds(*parts)
        if name in _FUNCTIONS:
            return _FUNCTIONS[name](*columns)
        types = [column.type() for column in columns]
        if any(kind.is_string() for kind in types) and any(kind.is_numeric() for kind in types):
            columns = [column.try_cast("float64") for column in columns]  # attributes are text
        return _OPERATORS[name](*columns)

    def _column(self, node: exp.Expression) -> IbisColumn:
        if node.name in self._dimensions:
            return attribute_text(self._rows, node.name)
        if node.name not in COLUMNS:
            names = ", ".join((*COLUMNS, *self._dimensions))
            raise ValueError(f"there is no column {node.name!r}; there are {names}")
        return self._rows[node.name]

    def _count(self, node: exp.Expression) -> IbisColumn:
        argument = node.this
        if argument is None or argument.key == "star":
            return self._rows.count(where=self._condition)
        if argument.key == "distinct":
            return self.make(argument.expressions[0]).nunique(where=self._condition)
        return self.make(argument).count(where=self._condition)

    def _sum(self, node: exp.Expression) -> IbisColumn:
        value = self.make(node.this)
        if value.type().is_boolean():
            value = value.cast("int64")
        return exact_sum(value, self._condition).fill_null(0)

    def _avg(self, node: exp.Expression) -> IbisColumn:
        value = self.make(node.this).cast("float64")
        return exact_sum(value, self._condition) / value.count(where=self._condition).nullif(0)

    def _min(self, node: exp.Expression) -> IbisColumn:
        return self.make(node.this).min(where=self._condition)

    def _max(self, node: exp.Expression) -> IbisColumn:
        return self.make(node.this).max(where=self._condition)

    def _case(self, node: exp.Expression) -> IbisColumn:
        branches = [(self.make(branch.this), self.make(branch.args["true"])) for branch in node.args["ifs"]]
        default = node.args.get("default")
        return load_ibis().cases(*branches, else_=None if default is None else self.make(default))

    def _is(self, node: exp.Expression) -> IbisColumn:
        if node.expression.key != "null":
            raise ValueError(f"{node.sql()} is not supported")
        return self.make(node.this).isnull()

    def _boolean(self, node: exp.Expression) -> IbisColumn:
        return load_ibis().literal(bool(node.this))

    def _literal(self, node: exp.Expression) -> IbisColumn:
        is_text, is_float = node.args.get("is_string"), re.search(r"[.eE]", node.name)
        value = node.name if is_text else float(node.name) if is_float else int(node.name)
        return load_ibis().literal(value)


def _check_kinds(tested: exp.Expression, *values: exp.Expression) -> None:
    """Check that a comparison of ``kind`` names kinds of events."""
    unknown = [value.name for value in values if value.key == "literal" and value.name not in KINDS]
    if tested.key == "column" and tested.name == "kind" and unknown:
        raise ValueError(f"no kind of event is called {unknown[0]!r}; there are {', '.join(KINDS)}")
