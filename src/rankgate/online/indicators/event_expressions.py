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
    """Columns of expressions; a method for each operation of SQL that is supported."""

    def __init__(self, rows: IbisColumn, condition: IbisColumn, dimensions: Sequence[str]) -> None:
        self._rows, self._condition, self._dimensions = rows, condition, dimensions

    def make(self, node: exp.Expression) -> IbisColumn:
        """The column of an expression.

        Raises:
            ValueError: it is not supported.
        """
        name = type(node).__name__
        if name in _OPERATORS:
            return self._compare(node)
        method = getattr(self, f"_{name.lower()}", None)
        if method is None:
            raise ValueError(f"{node.sql()} is not supported")
        return method(node)

    def _column(self, node: exp.Expression) -> IbisColumn:
        if node.name in self._dimensions:
            return attribute_text(self._rows, node.name)
        if node.name not in COLUMNS:
            names = ", ".join((*COLUMNS, *self._dimensions))
            raise ValueError(f"there is no column {node.name!r}; there are {names}")
        return self._rows[node.name]

    def _compare(self, node: exp.Expression) -> IbisColumn:
        left, right = self.make(node.this), self.make(node.expression)
        _check_kinds(node.this, [node.expression])
        types = left.type(), right.type()
        if any(kind.is_string() for kind in types) and any(kind.is_numeric() for kind in types):
            left, right = left.try_cast("float64"), right.try_cast("float64")  # attributes are text
        return _OPERATORS[type(node).__name__](left, right)

    def _in(self, node: exp.Expression) -> IbisColumn:
        _check_kinds(node.this, node.expressions)
        return self.make(node.this).isin([self.make(element) for element in node.expressions])

    def _count(self, node: exp.Expression) -> IbisColumn:
        counted = node.this
        if counted is None or counted.key == "star":
            return self._rows.count(where=self._condition)
        if counted.key == "distinct":
            return self.make(counted.expressions[0]).nunique(where=self._condition)
        return self.make(counted).count(where=self._condition)

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

    def _coalesce(self, node: exp.Expression) -> IbisColumn:
        return load_ibis().coalesce(self.make(node.this), *map(self.make, node.expressions))

    def _nullif(self, node: exp.Expression) -> IbisColumn:
        return self.make(node.this).nullif(self.make(node.expression))

    def _between(self, node: exp.Expression) -> IbisColumn:
        return self.make(node.this).between(self.make(node.args["low"]), self.make(node.args["high"]))

    def _like(self, node: exp.Expression) -> IbisColumn:
        return self.make(node.this).like(node.expression.name)

    def _lower(self, node: exp.Expression) -> IbisColumn:
        return self.make(node.this).lower()

    def _is(self, node: exp.Expression) -> IbisColumn:
        return self.make(node.this).isnull()

    def _not(self, node: exp.Expression) -> IbisColumn:
        return ~self.make(node.this)

    def _neg(self, node: exp.Expression) -> IbisColumn:
        return -self.make(node.this)

    def _paren(self, node: exp.Expression) -> IbisColumn:
        return self.make(node.this)

    def _boolean(self, node: exp.Expression) -> IbisColumn:
        return load_ibis().literal(bool(node.this))

    def _literal(self, node: exp.Expression) -> IbisColumn:
        is_text, is_float = node.args.get("is_string"), re.search(r"[.eE]", node.name)
        value = node.name if is_text else float(node.name) if is_float else int(node.name)
        return load_ibis().literal(value)


def _check_kinds(tested: exp.Expression, values: Sequence[exp.Expression]) -> None:
    """Check that a comparison of ``kind`` names kinds of events."""
    unknown = [value.name for value in values if value.key == "literal" and value.name not in KINDS]
    if tested.key == "column" and tested.name == "kind" and unknown:
        raise ValueError(f"no kind of event is called {unknown[0]!r}; there are {', '.join(KINDS)}")
