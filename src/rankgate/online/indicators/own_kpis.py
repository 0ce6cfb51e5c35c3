"""KPIs that a user declares in TOML, in tables ``[[kpis]]`` of a mapping.

A KPI is an aggregate over the events of each search, session or user, written in SQL:

    [[kpis]]
    name = "buyers"
    per = "user"
    of = "count(*) > 0"
    where = "kind = 'purchase' and value >= 20"
    direction = "up"

It becomes a `Kpi` as those of the catalogue are, so that all verbs compute it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from operator import and_, itemgetter
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, get_args

from rankgate.core.frozen import dataclass
from rankgate.online.indicators.event_expressions import make_column, needed_kinds, parse_sql
from rankgate.online.indicators.kpi import Kpi, Unit
from rankgate.online.indicators.kpi_catalogue import KPIS
from rankgate.online.indicators.search_tables import events, seconds, value_where

if TYPE_CHECKING:
    from sqlglot import exp

    from rankgate.core.declare.toml_file import TomlFile
    from rankgate.online.events.events import Events

Aggregate: TypeAlias = Callable[[Any], Any]
"""From a table of events, a column of Ibis with its aggregate."""

_TABLES = {"search": "searches", "session": "sessions", "user": "people"}
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "per": tuple(_TABLES),
    "unit": get_args(Unit),
    "direction": ("up", "down"),
}
_TEXTS = ("name", "title", "where", "of", "numerator", "denominator", *_CHOICES)
_LISTS = ("windows", "quantiles")
_SUBJECTS: Mapping[str, Any] = {
    "click": "clicks",
    "impression": "impressions",
    "add_to_cart": "carts",
    "purchase": "purchases",
    "rank": "ranks",
    "value": "revenue",
    "at": "time",
    "session": "sessions",
    "user": "users",
    "search": "searches",
}
"""What a KPI is made of, by the words of its expressions: a fault of it spoils the KPI."""

_WINDOW = re.compile(r"(\d+(?:\.\d+)?)([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def declare_kpis(log: Events) -> tuple[Kpi, ...]:
    """The KPIs that the mapping of a log declares; from then on they are found by their names.

    Raises:
        InputError: a declaration that cannot be read; with its line.
    """
    toml, dimensions = log.declarations
    kpis = read_kpis(toml, dimensions) if toml else ()
    KPIS.declare(kpis)
    return kpis


def read_kpis(toml: TomlFile, dimensions: Sequence[str] = ()) -> tuple[Kpi, ...]:
    """The KPIs of the tables ``[[kpis]]``, one for each window and quantile.

    Args:
        toml: the file.
        dimensions: the names of dimensions, which expressions can use as columns.

    Raises:
        InputError: an unknown key, a value or an expression that does not fit; with its line.
    """
    tables = toml.values.get("kpis", [])
    if not isinstance(tables, list):
        raise toml.error("each KPI is a table [[kpis]].", "kpis")
    kpis: dict[str, Kpi] = {}
    catalogue = {kpi.name for kpi in KPIS.all_objects}
    for number, table in enumerate(tables):
        key = ("kpis", str(number))
        toml.check_keys(table, (*_TEXTS, *_LISTS), *key)
        for kpi in _Declaration(toml, key, table, tuple(dimensions)).kpis():
            if kpi.name in kpis or kpi.name in catalogue:
                raise toml.error(f"there is another KPI {kpi.name!r}; choose another name.", *key, "name")
            kpis[kpi.name] = kpi
    return tuple(kpis.values())


@dataclass(frozen=True)
class _Declaration:
    """A table ``[[kpis]]``.

    Attributes:
        toml: the file.
        key: the place of the table.
        table: its values.
        dimensions: the names that expressions can use besides columns of events.
    """

    toml: TomlFile
    key: tuple[str, ...]
    table: Mapping[str, Any]
    dimensions: tuple[str, ...]

    def kpis(self) -> Iterator[Kpi]:
        """The KPI for each window and quantile."""
        name, row_kind, where_text = self.text("name"), self.text("per") or "search", self.text("where")
        if not re.fullmatch(r"[a-z]\w*", name):
            self.refuse("a KPI has a name of small letters, digits and _", "name")
        roles = ("numerator", "denominator") if "of" not in self.table else ("of",)
        if any(not self.text(role) for role in roles) or (len(roles) == 1 and "numerator" in self.table):
            self.refuse('give of, as in of = "count(*)", or a numerator and a denominator', roles[0])
        windows: dict[str, float | None] = {f"_{text}": self.window(text) for text in self.values("windows")}
        windows = windows or {"": None}
        quantiles = self.values("quantiles") or [None]
        if quantiles != [None] and len(roles) > 1:
            self.refuse("quantiles are of values, not of a ratio; give of", "quantiles")
        trees = {role: self.parse(role) for role in roles}
        condition = self.parse("where") if where_text else None
        texts = [self.text(role) for role in roles]
        used_words = re.findall(r"\w+", " ".join([row_kind, *texts, where_text]))
        is_share = self.column(trees[roles[0]], condition)(events()).type().is_boolean()
        for suffix, window in windows.items():
            columns = {
                f"{name}{suffix} {role}": self.column(tree, condition, window) for role, tree in trees.items()
            }
            value, *denominator = map(itemgetter, columns)
            for quantile in quantiles:
                yield Kpi(
                    name + suffix + self.quantile_suffix(quantile),
                    title=self.text("title") or name.replace("_", " ").capitalize(),
                    formula=" ".join(
                        [
                            "sums" if denominator else f"quantile {quantile}" if quantile else "mean",
                            f"over {_TABLES[row_kind]} of {' / '.join(texts)}",
                            *([f"where {where_text}"] if where_text else []),
                            *([f"within {suffix[1:]} of the first event"] if window else []),
                        ]
                    ),
                    source="the mapping of the log",
                    table=_TABLES[row_kind],  # type: ignore[arg-type]
                    of=value,
                    per=denominator[0] if denominator else None,
                    quantile=quantile,
                    unit=self.text("unit") or ("share" if is_share else "count"),  # type: ignore[arg-type]
                    better=self.text("direction"),  # type: ignore[arg-type]
                    needs=needed_kinds(condition) if condition else (),
                    made_of=tuple(dict.fromkeys(_SUBJECTS[word] for word in used_words if word in _SUBJECTS)),
                    own_columns=columns,
                    window=window,
                )

    def text(self, name: str) -> str:
        """A text of the table; empty if it has none."""
        value = self.table.get(name, "")
        choices = _CHOICES.get(name)
        if not isinstance(value, str):
            self.refuse(f"{name} is a text", name)
        if choices and value not in ("", *choices):
            self.refuse(f"{name} is one of {', '.join(choices)}", name)
        return value

    def values(self, name: str) -> list[Any]:
        """A list of the table; empty if it has none."""
        values = self.table.get(name, [])
        if not isinstance(values, list):
            self.refuse(f"{name} is a list", name)
        return values

    def window(self, text: object) -> float:
        """The seconds of a window such as ``7d``."""
        match = _WINDOW.fullmatch(text) if isinstance(text, str) else None
        if not match:
            self.refuse('windows are lengths of time, as in ["30m", "24h", "7d"]', "windows")
        return float(match[1]) * _SECONDS[match[2]]

    def quantile_suffix(self, quantile: object) -> str:
        """The end of the name of a KPI: ``_p95``; empty for a mean."""
        if quantile is None:
            return ""
        if isinstance(quantile, bool) or not isinstance(quantile, float) or not 0 < quantile < 1:
            self.refuse("quantiles are between 0 and 1, as in [0.5, 0.95]", "quantiles")
        return f"_p{100 * quantile:g}".replace(".", "_")

    def refuse(self, problem: str, name: str) -> NoReturn:
        """Raise the error about a key."""
        raise self.toml.error(f"{problem}.", *self.key, name)

    def parse(self, name: str) -> exp.Expression:
        """The tree of an expression, which was tried on the table of events."""
        from ibis.common.exceptions import IbisError
        from ibis.expr.types import Scalar

        try:
            tree = parse_sql(self.text(name))
            value = make_column(tree, events(), dimensions=self.dimensions)
            is_aggregate = isinstance(value, Scalar)
        except (IbisError, TypeError, ValueError, AttributeError) as error:
            self.refuse(f"{name} is not an expression of SQL: {str(error).splitlines()[0].rstrip('.')}", name)
        if is_aggregate and name == "where":
            self.refuse("where is a condition on single events, as in \"kind = 'click'\"", name)
        if not (is_aggregate or name == "where"):
            self.refuse(f'{name} is an aggregate over events, as in "count(*)" or "sum(value)"', name)
        return tree

    def column(
        self, tree: exp.Expression, condition: exp.Expression | None, window: float | None = None
    ) -> Aggregate:
        """The aggregate over the events of a row.

        With a window only events within it count, and rows whose window ends after the log have
        no value.
        """

        def aggregate(rows: Any) -> Any:  # noqa: ANN401 - columns of Ibis
            conditions = [make_column(condition, rows, None, self.dimensions)] if condition else []
            if window is not None:
                conditions.append(seconds(rows.at, rows.begin) <= window)
            is_counted = reduce(and_, conditions) if conditions else None
            value = make_column(tree, rows, is_counted, self.dimensions)
            if window is None:
                return value
            is_complete = seconds(rows.log_end.max(), rows.begin.min()) >= window
            return value_where(is_complete, value)

        return aggregate
