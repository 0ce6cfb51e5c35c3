"""Dials of a sweep, the keys of its file, and the importance of each dial.

The module declares the keys of a sweep's file. Dials are the settings that a sweep changes, with
the values to try. The importance for quality is computed for each dial, and for each pair of dials.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import combinations, pairwise, product
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from rankgate.core.declare import Range, fields_of
from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import format_setting

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats
    from rankgate.core.declare.toml_file import TomlFile


@dataclass(frozen=True)
class Settings:
    """The keys of ``[sweep]``.

    Attributes:
        engine: The file of the engine to sweep; else [fuse] or [command] names what is swept.
        queries: The file of the queries that are asked.
        qrels: The file of the judgments.
        metrics: Metrics such as nDCG@10; the first one decides.
        depth: The number of documents to request; by default that of the engine's file.
        convention: The convention of the metrics.
        search: Every combination of values (grid), every combination on a few queries and the better half
            on twice as many, until few are left (race), or proposals of Optuna's TPE (optuna).
        held_out: The share of the queries that choose nothing and judge the chosen point; by default 0.4
            with race or predict, and else 0: the gain is estimated by cross-validation.
        predict: A dial whose value is also predicted for each query, from the query and its lists.
        trials: The number of points that Optuna proposes.
        limit: The largest number of points of a grid.
        workers: The number of points measured at the same time; one if there is set-up.
        latency: The quantile of latency for the Pareto front of quality against latency.
        folds: Parts of the queries for cross-validation.
        repeats: The number of times that queries are split again.
        level: The confidence level of the intervals.
        seed: The seed of folds and proposals.
        account: False to charge no point to the folder's account of held-out queries.
    """

    engine: str | None = None
    queries: str | None = None
    qrels: str | None = None
    metrics: list[Any] = field(default_factory=lambda: ["nDCG@10"])
    depth: Annotated[int, Range(1, 10_000)] | None = None
    convention: str = "trec"
    search: Literal["grid", "race", "optuna"] = "grid"
    held_out: Annotated[float, Range(0, 0.9)] | None = None
    predict: str | None = None
    trials: Annotated[int, Range(1, 100_000)] = 50
    limit: Annotated[int, Range(1, 100_000)] = 1000
    workers: Annotated[int, Range(1, 64)] = 1
    latency: Literal["p50", "p90", "p95", "p99"] = "p50"
    folds: Annotated[int, Range(2, 100)] = 5
    repeats: Annotated[int, Range(1, 1000)] = 10
    level: Annotated[float, Range(0, 1, exclusive=True)] = 0.95
    seed: Annotated[int, Range(0)] = 0
    account: bool = True


@dataclass(frozen=True)
class Fuse:
    """The keys of ``[fuse]``; parameters and weights may be names of dials in double braces.

    Attributes:
        runs: The files of the runs, with names of dials in double braces; the file of an engine is asked
            for the lists of each query once.
        method: The method of rankgate fuse.
        parameters: Its parameters, as in {k = "{{k}}"}.
        weights: A weight for each run.
        norm: The normalisation.
        depth: The number of documents of each run that count.
        keep: The number of documents the fused run keeps.
        rerank: A run with the scores of a reranker, or the file of an engine.
        rerank_depth: The number of fused documents that the reranker orders; 0 for none.
        confirm: The file of an engine that fuses by itself and has the dials as parameters; it is asked at
            the chosen point.
    """

    runs: list[Any]
    method: str = "rrf"
    parameters: dict[str, Any] = field(default_factory=dict)
    weights: list[Any] = field(default_factory=list)
    norm: str | None = None
    depth: Annotated[int, Range(1)] | None = None
    keep: Annotated[int, Range(1)] | None = None
    rerank: str | None = None
    rerank_depth: Annotated[int, Range(0)] | None = None
    confirm: str | None = None


@dataclass(frozen=True)
class Program:
    """The keys of ``[command]``.

    Attributes:
        command: The program and its arguments; {{run}} is the file that it writes, and names in
            double braces represent dials.
        timeout: Seconds that it may take.
    """

    command: list[Any]
    timeout: Annotated[float, Range(0, exclusive=True)] = 3600.0


@dataclass(frozen=True)
class Step:
    """The keys of one ``[[setup]]`` or ``[[undo]]``: a request, SQL, or a command.

    Attributes:
        request: Method and URL, as in "PUT /shop/_settings"; a path is of the engine's server.
        body: The JSON of the request.
        headers: Headers; ${NAME} is an environment variable.
        ca: A file of certificates to trust instead of the system's.
        sql: A statement, or several, for the engine's database.
        command: A program and its arguments.
        timeout: Seconds that the step may take.
    """

    request: str | None = None
    body: dict[str, Any] | None = None
    headers: dict[str, Any] = field(default_factory=dict)
    ca: str | None = None
    sql: str | None = None
    command: list[Any] | None = None
    timeout: Annotated[float, Range(0, exclusive=True)] = 60.0


Point = Mapping[str, Any]
"""A value for each dial; None where the dial does not apply."""

_DIGITS = 6  # significant digits of the values between the ends of a range


@dataclass(frozen=True)
class ValueKeys:
    """The keys of a dial that is a table with a list of values.

    Attributes:
        values: The values that a grid tries.
        when: The values of other dials with which it applies, as in {method = ["linear", "wmnz"]}.
    """

    values: list[Any]
    when: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class RangeKeys:
    """The keys of a dial that is a range.

    Attributes:
        low: The least value.
        high: The greatest value.
        steps: The number of its values in a grid, both ends included.
        log: True for values evenly spaced on a logarithmic scale.
        integer: True for whole numbers.
        when: The values of other dials with which it applies, as in {method = ["rrf"]}.
    """

    low: float
    high: float
    steps: Annotated[int, Range(2, 1000)] | None = None
    log: bool = False
    integer: bool = False
    when: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Dial:
    """One dial.

    Attributes:
        name: the name in templates, of a parameter or a key of an engine.
        values: the values that a grid tries; empty for a range without steps.
        low: the least value of a range; None for a list of values.
        high: the greatest value of a range; None for a list of values.
        log: True for a range on a logarithmic scale.
        integer: True if its values are whole numbers.
        conditions: for other dials, the values with which it applies; empty if it always applies.
    """

    name: str
    values: tuple[Any, ...] = ()
    low: float | None = None
    high: float | None = None
    log: bool = False
    integer: bool = False
    conditions: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    def __contains__(self, value: object) -> bool:
        """True if a search can propose the value."""
        if self.low is None or self.high is None:
            return any(is_same_value(value, dial_value) for dial_value in self.values)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number and self.low <= value <= self.high  # type: ignore[operator]

    def applies_at(self, point: Point) -> bool:
        """True if the other dials have values with which this one applies."""
        return all(
            any(is_same_value(point[name], value) for value in values)
            for name, values in self.conditions.items()
        )


def read_dials(toml: TomlFile, *, grid: bool) -> tuple[Dial, ...]:
    """The dials of a file.

    Raises:
        InputError: no dials; a dial without values, with a value twice, or an invalid range; a
            condition on a dial that does not come before it.
    """
    tables = toml.values.get("dials")
    if not isinstance(tables, dict) or not tables:
        raise toml.error("[dials] is missing: what to change, as in k1 = [0.9, 1.2].", "dials")
    dials = tuple(_dial(toml, name, table, grid=grid) for name, table in tables.items())
    if not grid and (of_lists := [dial for dial in dials if any(isinstance(v, list) for v in dial.values)]):
        problem = f"{of_lists[0].name}: lists are values of a grid; Optuna takes numbers and texts."
        raise toml.error(problem, "dials", of_lists[0].name)
    for index, dial in enumerate(dials):
        for name in dial.conditions:
            if name not in [earlier_dial.name for earlier_dial in dials[:index]]:
                problem = f"when of {dial.name} names {name}, which is not a dial above it."
                raise toml.error(problem, "dials", dial.name, "when", code="unknown-dial")
    return dials


def _dial(toml: TomlFile, name: str, dial_table: object, *, grid: bool) -> Dial:
    key_path = ("dials", name)
    if isinstance(dial_table, list):
        return Dial(name, _values(toml, dial_table, *key_path))
    if isinstance(dial_table, dict) and "values" in dial_table:
        keys = ValueKeys(**toml.read_values(dial_table, fields_of(ValueKeys).values(), *key_path))
        return Dial(name, _values(toml, keys.values, *key_path), conditions=_conditions(keys.when))
    if not isinstance(dial_table, dict):
        raise toml.error(f"{name} is a list of values, or a table with low and high.", *key_path)
    between = RangeKeys(**toml.read_values(dial_table, fields_of(RangeKeys).values(), *key_path))
    if between.low >= between.high:
        raise toml.error(f"{name}: low is not below high.", *key_path, "low")
    if between.log and between.low <= 0:
        raise toml.error(f"{name}: a logarithmic range begins above 0.", *key_path, "low")
    if between.integer and not (between.low.is_integer() and between.high.is_integer()):
        raise toml.error(f"{name}: the ends of a range of integers are integers.", *key_path)
    if grid and between.steps is None:
        raise toml.error(f"{name}: a grid needs steps, the number of values.", *key_path)
    values = tuple(dict.fromkeys(_range_values(between))) if between.steps else ()
    return Dial(
        name,
        values,
        between.low,
        between.high,
        between.log,
        between.integer,
        conditions=_conditions(between.when),
    )


def _conditions(values_of_dials: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    """The values of other dials, as tuples; a single value stands for a list of one."""
    return {
        name: tuple(values) if isinstance(values, list) else (values,)
        for name, values in values_of_dials.items()
    }


def _values(toml: TomlFile, values: list[Any], *key_path: str) -> tuple[Any, ...]:
    name = key_path[-1]
    if not values:
        raise toml.error(f"{name} has no values.", *key_path, code="empty-grid")
    for index, value in enumerate(values):
        for item in value if isinstance(value, list) else [value]:
            if not isinstance(item, str | int | float):
                problem = f"{name}: a value must be a number, a string, true, false, or a list of these."
                raise toml.error(problem, *key_path)
            if isinstance(item, float) and not math.isfinite(item):
                raise toml.error(f"{name}: a value is a finite number.", *key_path)
        if any(is_same_value(value, earlier_value) for earlier_value in values[:index]):
            raise toml.error(f"{name} has {value!r} twice.", *key_path)
    return tuple(values)


def _range_values(value_range: RangeKeys) -> Iterator[int | float]:
    """The values of a range, evenly spaced."""
    low, high, steps = value_range.low, value_range.high, value_range.steps or 2
    for step in range(steps):
        share = step / (steps - 1)
        value = low * (high / low) ** share if value_range.log else low + (high - low) * share
        yield round(value) if value_range.integer else float(f"{value:.{_DIGITS}g}")


def is_same_value(first: object, second: object) -> bool:
    """True if two values are equal and both or neither are booleans: 1 equals 1.0, but not true.

    >>> is_same_value(1, 1.0), is_same_value(1, True)
    (True, False)
    """
    return isinstance(first, bool) == isinstance(second, bool) and first == second


def grid_points(dials: tuple[Dial, ...]) -> Iterator[Point]:
    """Every combination of values, the last dial fastest, whether or not each dial applies.

    >>> [dict(point) for point in grid_points((Dial("k", (1, 2)),))]
    [{'k': 1}, {'k': 2}]
    """
    names = [dial.name for dial in dials]
    for values in product(*(dial.values for dial in dials)):
        yield dict(zip(names, values, strict=True))


def value_text(value: object) -> str:
    """A value of a dial as text; a dash where the dial does not apply.

    >>> value_text(1.0), value_text((0.3, 0.7)), value_text(None)
    ('1', '[0.3, 0.7]', '-')
    """
    if value is None:
        return "-"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(format_setting, value))}]"
    return format_setting(value)


def point_text(point: Point) -> str:
    """A point as text, without dials that do not apply.

    >>> point_text({"k1": 0.9, "form": "or"})
    'k1=0.9 form=or'
    """
    return " ".join(f"{name}={value_text(value)}" for name, value in point.items() if value is not None)


BINS = 6
"""The number of bins for a range of values that are all different."""

_ROUNDING = 1e-12  # smaller differences of means are rounding errors


@dataclass(frozen=True)
class Importance:
    """The share of the variance of the mean over points that dials explain.

    Attributes:
        dials: one dial, or two for their combined effect beyond both single ones.
        share: the share, from 0 to 1; None if the means do not differ.
    """

    dials: tuple[str, ...]
    share: float | None


@dataclass(frozen=True)
class Levels:
    """The levels of the points on one dial.

    Attributes:
        names: the levels, in order.
        codes: ``(P,)``, the level of each point.
    """

    names: tuple[str, ...]
    codes: NDArray[np.int64]


def importances(dials: Sequence[Dial], points: Sequence[Point], means: Floats) -> tuple[Importance, ...]:
    """The importance of each dial, then of pairs of dials, each the largest first.

    The share of a dial is the loss of R² of an additive model without it. The share of two dials is
    the gain of R² by their interaction. On a complete grid these are the first and second terms of
    functional analysis of variance, every value with the same weight. If points are missing, or
    were proposed by a search, dials overlap, and each share is the part that only this dial
    explains.

    Source: Hutter, Hoos and Leyton-Brown, ICML 2014.
    """
    if float(np.ptp(means)) <= _ROUNDING * float(np.abs(means).max(initial=0.0)):
        all_dial_names = [*((dial.name,) for dial in dials), *combinations([d.name for d in dials], 2)]
        return tuple(Importance(dial_names, None) for dial_names in all_dial_names)
    codes = {dial.name: point_levels(dial, points).codes for dial in dials}
    total_share = _explained_share([*codes.values()], means)
    single_dials = [
        Importance((name,), total_share - _explained_share([c for n, c in codes.items() if n != name], means))
        for name in codes
    ]
    pairs = [
        Importance(
            pair, _explained_share([*codes.values(), _crossed_codes(codes, pair)], means) - total_share
        )
        for pair in combinations(codes, 2)
    ]
    return tuple(
        Importance(importance.dials, min(max(importance.share or 0.0, 0.0), 1.0))
        for group in (single_dials, pairs)
        for importance in sorted(group, key=lambda importance: -(importance.share or 0.0))
    )


def point_levels(dial: Dial, points: Sequence[Point]) -> Levels:
    """The level of each point: the value, or a part of the range if there are too many values."""
    values = [point[dial.name] for point in points]
    dial_values = [value for value in [*dial.values, *values] if value is not None]
    if all(isinstance(dial_value, int | float) for dial_value in dial_values):
        dial_values.sort()
    if dial.low is None:
        return _by_name(values, dial_values)
    dial_values = [value for value in dial_values if value in values]
    if len({*dial_values}) <= max(len(dial.values) + 1, BINS):
        return _by_name(values, dial_values)
    array = np.array(values, float)  # NaN where the dial does not apply
    edges = np.nanquantile(array, np.linspace(0, 1, BINS + 1))
    codes = np.clip(np.searchsorted(edges, array, side="right") - 1, 0, BINS - 1)
    codes[np.isnan(array)] = BINS
    names = tuple(f"{low:.3g} to {high:.3g}" for low, high in pairwise(edges))
    return Levels((*names, value_text(None))[: int(codes.max()) + 1], codes.astype(np.int64))


def _by_name(values: Sequence[object], dial_values: Sequence[object]) -> Levels:
    """The levels in the order of values; the last one, if needed, where the dial does not apply."""
    names = [value_text(dial_value) for dial_value in (*dial_values, None) if dial_value in values]
    used_names = list(dict.fromkeys(names))
    codes = np.array([used_names.index(value_text(value)) for value in values], np.int64)
    return Levels(tuple(used_names), codes)


def _explained_share(factors: Sequence[NDArray[np.int64]], means: Floats) -> float:
    """R² of a linear model with an effect for each level of each factor."""
    columns = [np.ones((len(means), 1))]
    columns += [np.equal.outer(codes, np.unique(codes)[1:]).astype(float) for codes in factors]
    design = np.hstack(columns)
    fitted_means = design @ np.linalg.lstsq(design, means, rcond=None)[0]
    return 1 - float(((means - fitted_means) ** 2).sum() / ((means - means.mean()) ** 2).sum())


def _crossed_codes(codes: Mapping[str, NDArray[np.int64]], pair: tuple[str, str]) -> NDArray[np.int64]:
    """A level for each combination of two dials."""
    first_codes, second_codes = (codes[name] for name in pair)
    return first_codes * (int(second_codes.max(initial=0)) + 1) + second_codes
